import contextlib
import resource

import numpy as np
import pytest

from keras_bct.array_file import read_array, write_array

ARRAY = np.arange(768.0).reshape(24, 32)
SIZE = 128 + ARRAY.nbytes


@contextlib.contextmanager
def full_at(size):
    """Lets files grow to a size and no further, as a disk does that is full there.

    Around the one call: the log that pytest writes to may be a file, too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("written", [0, 100, 4096, SIZE - 100, SIZE - 1])
def test_a_file_that_does_not_fit_is_an_error(tmp_path, written):
    with pytest.raises(OSError, match="File too large"), full_at(written):
        write_array(tmp_path / "rows.npy", ARRAY)


@pytest.mark.parametrize(
    "array", [ARRAY, ARRAY.T, ARRAY[:, ::2], ARRAY.astype(">f4"), np.zeros((0, 3))]
)
def test_numpy_reads_what_was_written(tmp_path, array):
    write_array(tmp_path / "rows.npy", array)
    read = np.load(tmp_path / "rows.npy", allow_pickle=False)
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype


def test_objects_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_array(tmp_path / "rows.npy", np.array([{}]))
    assert not (tmp_path / "rows.npy").exists()


@pytest.mark.parametrize("mapped", [False, True])
def test_what_was_written_is_read(tmp_path, mapped):
    write_array(tmp_path / "rows.npy", ARRAY)
    read = read_array(tmp_path / "rows.npy", mapped=mapped)
    np.testing.assert_array_equal(read, ARRAY)
    assert isinstance(read, np.memmap) == mapped


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("size", [0, 5, 8, 100, 128, SIZE - 1])
def test_a_file_cut_short_is_refused_with_its_name(tmp_path, size, mapped):
    write_array(tmp_path / "rows.npy", ARRAY)
    content = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "rows.npy").write_bytes(content[:size])
    with pytest.raises(ValueError, match=r"rows\.npy: a whole \.npy file is expected"):
        read_array(tmp_path / "rows.npy", mapped=mapped)


def test_a_pickle_is_not_opened(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"rows\.npy: "):
        read_array(tmp_path / "rows.npy")
    with pytest.raises(FileNotFoundError):
        read_array(tmp_path / "none.npy")

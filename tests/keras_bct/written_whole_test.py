"""A file is there whole or not at all, and nothing is left beside it."""

import os
import signal
import subprocess
import sys

import pytest

from keras_bct.written_whole import written_whole


def test_what_was_there_stays_until_all_is_written(tmp_path):
    path = tmp_path / "new" / "a.json"
    for text in ("first", "second"):
        before = path.read_text() if path.exists() else None
        with written_whole(path) as unfinished:
            unfinished.write_text(text)
            assert unfinished.parent == path.parent
            assert unfinished.suffix == ".json"
            assert (path.read_text() if path.exists() else None) == before
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(error, tmp_path):
    path = tmp_path / "a.json"
    path.write_text("first")
    with pytest.raises(error), written_whole(path) as unfinished:
        unfinished.write_text("sec")
        raise error
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_not_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), written_whole(tmp_path / "a.json"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_killed_writer_neither_harms_nor_hinders_the_next(tmp_path):
    path = tmp_path / "a.npy"
    killed = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, pathlib, signal, sys\n"
            "from keras_bct.written_whole import written_whole\n"
            "with written_whole(pathlib.Path(sys.argv[1])) as unfinished:\n"
            "    unfinished.write_text('half')\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n",
            str(path),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    # What it left is neither the file nor one that a pattern finds.
    assert not list(tmp_path.glob("[!.]*"))
    with written_whole(path) as unfinished:
        assert not unfinished.exists()
        unfinished.write_text("whole")
    assert path.read_text() == "whole"


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("first")
    link.symlink_to(target)
    with written_whole(link) as unfinished:
        unfinished.write_text("second")
    assert link.is_symlink()
    assert target.read_text() == "second"


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with written_whole(pipe) as path:
        path.write_text("whole")
    assert os.read(reader, 10) == b"whole"
    os.close(reader)
    assert pipe.is_fifo()

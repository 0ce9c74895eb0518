"""What a directory must be for an adapter to come out of it."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from keras_bct.adapters import (
    AdapterDescription,
    AffineMap,
    NewToOld,
    OldToNew,
    ResidualMap,
    Ridge,
    load_adapter,
)


@pytest.fixture
def stored(make_pairs, sides, tmp_path):
    """A directory with an adapter from old to new."""
    Ridge().fit(*make_pairs(), **sides).save(tmp_path / "adapter")
    return tmp_path / "adapter"


def change(directory, **values):
    path = directory / "adapter.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_gives_the_direction_that_was_saved(make_pairs, sides, tmp_path):
    old, new = make_pairs(old_size=3, new_size=4)
    forward = Ridge().fit(old, new, **sides)
    backward = Ridge().fit_backward(old, new, **sides)
    for name, adapter in (("forward", forward), ("backward", backward)):
        adapter.save(tmp_path / name)

    loaded = load_adapter(tmp_path / "forward")
    assert type(loaded) is OldToNew
    np.testing.assert_array_equal(loaded.transform(old), forward.transform(old))
    assert (loaded.input_size, loaded.output_size, loaded.side_size) == (3, 4, None)

    loaded = load_adapter(tmp_path / "backward")
    assert type(loaded) is NewToOld
    np.testing.assert_array_equal(loaded.transform(new), backward.transform(new))


def test_the_description_tells_what_an_adapter_is_without_its_map(stored):
    (stored / "adapter_matrix.npy").unlink()

    description = AdapterDescription.read(stored)

    assert (description.direction, description.method) == ("old-to-new", "Ridge")
    assert (description.old_fingerprint, description.pairs) == ("old-model", 60)
    assert (description.input_size, description.output_size) == (5, 5)


@pytest.mark.parametrize("name", ["adapter_matrix.npy", "adapter_offset.npy"])
def test_a_directory_that_lacks_a_file_is_torn(stored, name):
    (stored / name).unlink()

    with pytest.raises(ValueError, match=f"with no {name}; copy or save"):
        load_adapter(stored)


def test_files_of_two_adapters_are_torn(stored, make_pairs, sides, tmp_path):
    Ridge().fit(*make_pairs(seed=1), **sides).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "adapter_offset.npy", stored)

    with pytest.raises(ValueError, match=r"another adapter_offset.npy than was saved"):
        load_adapter(stored)


def test_a_save_that_fails_leaves_what_was_there(stored, make_pairs, sides):
    class Full(AffineMap):
        def save(self, directory):
            super().save(directory)
            raise OSError("No space left on device")

    before = load_adapter(stored)
    broken = OldToNew(
        map=Full(np.eye(5), np.zeros(5)), method="by hand", pairs=0, **sides
    )
    with pytest.raises(OSError, match="No space"):
        broken.save(stored)

    np.testing.assert_array_equal(load_adapter(stored).map.matrix, before.map.matrix)
    assert len(list(stored.iterdir())) == 3


@pytest.fixture
def bent(sides):
    """An adapter whose map has three files more than an affine one."""
    return OldToNew(
        map=ResidualMap(
            AffineMap(np.eye(5), np.zeros(5)), np.eye(5), np.zeros(5), np.eye(5)
        ),
        method="by hand",
        pairs=0,
        **sides,
    )


def test_an_adapter_saved_over_one_of_another_kind_leaves_nothing_of_it(stored, bent):
    (stored / "notes.txt").write_text("mine")
    straight = load_adapter(stored)
    own = {"notes.txt", "adapter.json", "adapter_matrix.npy", "adapter_offset.npy"}

    bent.save(stored)
    assert len(list(stored.iterdir())) == 7
    straight.save(stored)

    assert {path.name for path in stored.iterdir()} == own
    assert load_adapter(stored).method == "Ridge"


def test_a_save_over_another_kind_that_is_interrupted_can_be_done_again(
    stored, bent, monkeypatch
):
    straight = load_adapter(stored)
    steps = [(Path, "unlink"), (os, "replace")]
    for (module, step), done in itertools.product(steps, range(3)):
        bent.save(stored)
        with monkeypatch.context() as patch:
            patch.setattr(module, step, fails_after(done, getattr(module, step)))
            with pytest.raises(OSError, match="Interrupted"):
                straight.save(stored)
        # All of what was there, or nothing that loads.
        with contextlib.suppress(FileNotFoundError, ValueError):
            assert load_adapter(stored).method == "by hand"
        straight.save(stored)
        assert len(list(stored.iterdir())) == 3
        assert load_adapter(stored).method == "Ridge"


@pytest.mark.parametrize("done", range(4))
def test_what_an_interrupted_save_has_left_the_next_of_another_kind_removes(
    stored, bent, monkeypatch, done
):
    straight = load_adapter(stored)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails_after(done, os.replace))
        with pytest.raises(OSError, match="Interrupted"):
            bent.save(stored)

    straight.save(stored)

    assert len(list(stored.iterdir())) == 3
    assert load_adapter(stored).method == "Ridge"


def test_what_a_killed_save_has_left_the_next_removes(stored):
    left = stored / ".writing-abcd1234"
    left.mkdir()
    (left / "adapter_matrix.npy").write_bytes(b"half of i")

    load_adapter(stored).save(stored)

    assert len(list(stored.iterdir())) == 3


def test_two_that_save_to_one_directory_leave_one_of_both(stored, bent):
    straight = load_adapter(stored)

    def save_often(adapter):
        for _ in range(30):
            adapter.save(stored)

    with ThreadPoolExecutor(2) as writers:
        list(writers.map(save_often, [straight, bent]))

    found = load_adapter(stored)
    of_both = {"Ridge": (straight, 3), "by hand": (bent, 6)}
    adapter, files = of_both[found.method]
    rows = np.eye(5)
    np.testing.assert_array_equal(found.transform(rows), adapter.transform(rows))
    assert len(list(stored.iterdir())) == files


@pytest.mark.parametrize("description", [None, "{}", "adapter"])
def test_a_model_that_is_no_adapters_is_not_saved_over(stored, tmp_path, description):
    adapter = load_adapter(stored)
    directory = tmp_path / "models" / "1"
    if description == "adapter":
        adapter.save(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "saved_model.pb").write_bytes(b"mine")
    if description == "{}":
        (directory / "adapter.json").write_text(description)
    before = {path.name: path.read_bytes() for path in directory.iterdir()}

    with pytest.raises(FileExistsError, match=r"models/1, whose saved_model.pb is no"):
        adapter.save(directory)

    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def fails_after(calls, function):
    """The function, until it was called so often."""
    left = iter(range(calls))

    def failing(*args, **kwargs):
        if next(left, None) is None:
            raise OSError("Interrupted")
        return function(*args, **kwargs)

    return failing


def test_no_file_outside_is_removed_though_a_description_names_it(stored, bent):
    outside = stored.parent / "precious.npy"
    outside.write_text("mine")
    change(stored, files={"../precious.npy": "0", str(outside): "0"})

    bent.save(stored)

    assert outside.read_text() == "mine"


@pytest.mark.parametrize("side", ["old_fingerprint", "new_fingerprint"])
def test_an_adapter_between_other_versions_is_refused(stored, side, sides):
    assert load_adapter(stored, **sides).pairs == 60

    with pytest.raises(ValueError, match=f"`{side}` should be .* Received: 'third'"):
        load_adapter(stored, **{side: "third"})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"direction": "sideways"}, "adapter.json: `direction`.*'sideways'"),
        ({"map": "spline"}, "adapter.json: `map` should be one of affine.*'spline'"),
        ({"output_size": 6}, "says output_size 6, its map has 5"),
        ({"schema": 9}, "should have schema 1. Received: 9"),
        ({"more": 1}, "more"),
        ({"pairs": "many"}, "pairs"),
        ({"pairs": -5}, "`pairs` should be a whole number, at least 0"),
        ({"side_size": 0}, "`side_size`"),
        ({"input_size": 0}, "`input_size`"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(stored, changed, message):
    change(stored, **changed)

    with pytest.raises(ValueError, match=message):
        load_adapter(stored)


@pytest.mark.parametrize("text", ['{"schema": 1', "", "[" * 100_000])
def test_a_description_that_is_no_json_is_refused(stored, text):
    (stored / "adapter.json").write_text(text)

    with pytest.raises(ValueError, match="should be JSON"):
        load_adapter(stored)


def test_a_closed_form_adapter_needs_no_tensorflow(stored):
    script = (
        "import sys; from keras_bct.adapters import load_adapter; "
        f"load_adapter({str(stored)!r}); print(*sys.modules)"
    )
    modules = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()

    assert {"tensorflow", "keras"}.isdisjoint(modules)


def test_side_information_that_a_map_does_not_take_is_refused(stored):
    with pytest.raises(ValueError, match="`side_information` should be left out"):
        load_adapter(stored).transform(np.ones((2, 5)), side_information=np.ones(2))


def test_a_map_without_variance_gives_none(stored):
    adapter = load_adapter(stored)

    assert not adapter.has_variance
    assert adapter.log_variance(np.ones((2, 5))) is None
    assert adapter.transform_with_variance(np.ones((2, 5)))[1] is None

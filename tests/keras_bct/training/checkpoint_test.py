"""A checkpoint is whole or not there, and belongs to its training alone."""

import zipfile

import keras
import numpy as np
import pytest

from keras_bct.training.checkpoint import Checkpoint, Checkpoints

ARRAYS = {"variable/00000": np.arange(3.0), "variable/00001": np.int64(7)}


def model(units=3):
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    made.compile(keras.optimizers.Adam(0.1), loss="mse")
    return made


def fit(made, *callbacks):
    x = np.random.default_rng(0).normal(size=(8, 2))
    made.fit(x, x @ np.ones((2, 3)), verbose=0, callbacks=list(callbacks))


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "new" / "checkpoint.npz"
    Checkpoint({"history": [{"loss": 0.1}]}, ARRAYS).save(path)
    loaded = Checkpoint.load(path)
    assert loaded.state == {"history": [{"loss": 0.1}]}
    assert set(loaded.arrays) == set(ARRAYS)
    np.testing.assert_array_equal(loaded.arrays["variable/00000"], [0, 1, 2])
    assert loaded.arrays["variable/00001"].dtype == np.int64


def test_where_there_is_none_there_is_nothing_to_go_on_from(tmp_path):
    assert Checkpoint.load(tmp_path / "checkpoint.npz") is None


class Killed(BaseException):
    """Stands for a signal in the middle of a write."""


# The archive that was never closed says so when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("entry", [1, 2, 3])
def test_killed_while_it_is_written_it_leaves_the_one_before(
    entry, tmp_path, monkeypatch
):
    path = tmp_path / "checkpoint.npz"
    Checkpoint({"history": [1]}, ARRAYS).save(path)
    written = []
    whole = zipfile.ZipFile.open

    def breaks_off(self, name, mode="r", **options):
        if mode == "w":
            written.append(name)
            if len(written) == entry:
                raise Killed
        return whole(self, name, mode, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", breaks_off)
    with pytest.raises(Killed):
        Checkpoint({"history": [1, 2]}, ARRAYS).save(path)
    monkeypatch.undo()
    assert Checkpoint.load(path).state == {"history": [1]}
    # And the next one takes its place.
    Checkpoint({"history": [1, 2]}, ARRAYS).save(path)
    assert Checkpoint.load(path).state == {"history": [1, 2]}


def test_weights_and_optimizer_are_taken_up(tmp_path):
    first, history = model(), [{"loss": 1.0}]
    fit(first, Checkpoints(tmp_path, {"recipe": [1, 2]}, history, None))
    second, taken_up = model(), []
    Checkpoints(tmp_path, {"recipe": [1, 2]}, taken_up, None).take_up(second)
    assert taken_up == history
    for one, other in zip(first.weights, second.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(
        first.optimizer.variables, second.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert int(second.optimizer.iterations) == 1


def test_the_checkpoint_of_another_training_is_refused(tmp_path):
    fit(model(), Checkpoints(tmp_path, {"seed": 1, "width": 8}, [], None))
    other = Checkpoints(tmp_path, {"seed": 2, "width": 8}, [], None)
    with pytest.raises(ValueError, match="another training: `seed` was 1 and is 2"):
        other.take_up(model())


def test_variables_of_other_shapes_are_refused(tmp_path):
    fit(model(), Checkpoints(tmp_path, {}, [], None))
    with pytest.raises(ValueError, match="of other shapes"):
        Checkpoints(tmp_path, {}, [], None).take_up(model(units=4))


def test_another_schema_is_refused(tmp_path):
    path = tmp_path / "checkpoint.npz"
    state = np.frombuffer(b'{"schema": 99}', np.uint8)
    np.savez(path, **{"state.json": state})
    with pytest.raises(ValueError, match="schema 1"):
        Checkpoint.load(path)

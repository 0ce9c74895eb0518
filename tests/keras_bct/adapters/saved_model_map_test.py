"""Adapters whose map is a SavedModel, as the alignment model is."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_bct.adapters import (
    AffineMap,
    NewToOld,
    OldToNew,
    SavedModelMap,
    load_adapter,
)


class Network(tf.Module):
    """Doubles rows, adds the sum of their side information, and says its error."""

    def __init__(self, side_size, variances):
        self.factor = tf.Variable(2.0)
        rows = tf.TensorSpec((None, 2), tf.float32, name="old_embedding")
        side = tf.TensorSpec((None, side_size), tf.float32, name="side_information")
        specs = [rows] if side_size is None else [rows, side]

        @tf.function(input_signature=specs)
        def transform(old_embedding, side_information=None):
            mapped = tf.pad(self.factor * old_embedding, [[0, 0], [0, 1]])
            if side_information is not None:
                mapped += tf.reduce_sum(side_information, axis=1, keepdims=True)
            gives = {"embedding": mapped}
            if variances:
                gives["log_variance"] = tf.tile(old_embedding[:, :1], [1, variances])
            return gives

        self.transform = transform

    def write(self, directory):
        tf.saved_model.save(self, str(directory), {"transform": self.transform})
        return directory


@pytest.fixture
def make(tmp_path, sides):
    """Gives an adapter of a network with so many side components and variances."""

    def of(side_size=None, variances=1, direction=OldToNew):
        directory = Network(side_size, variances).write(tmp_path / "network")
        return direction(
            map=SavedModelMap.load(directory), method="FastFill", pairs=9, **sides
        )

    return of


@pytest.fixture
def stored(make, tmp_path):
    make().save(tmp_path / "adapter")
    return tmp_path / "adapter"


def test_maps_rows_and_predicts_their_error(stored):
    rows = np.arange(12_000, dtype=np.float32).reshape(6000, 2)

    adapter = load_adapter(stored)
    mapped, logarithms = adapter.transform_with_variance(rows, fingerprint="old-model")

    assert type(adapter) is OldToNew
    assert mapped.dtype == logarithms.dtype == np.float32
    np.testing.assert_array_equal(mapped[:, :2], 2 * rows)
    np.testing.assert_array_equal(mapped[:, 2], 0)
    np.testing.assert_array_equal(logarithms, rows[:, 0])
    np.testing.assert_array_equal(adapter.transform(rows), mapped)
    np.testing.assert_array_equal(adapter.log_variance(rows), logarithms)
    assert (adapter.input_size, adapter.output_size, adapter.side_size) == (2, 3, None)


def test_takes_the_precisions_that_embeddings_come_in(stored):
    for dtype in (np.float16, np.float64):
        mapped = load_adapter(stored).transform(np.ones((1, 2), dtype))
        assert mapped.dtype == np.float32
        assert mapped.tolist() == [[2, 2, 0]]


def test_no_rows_are_mapped_to_no_rows(stored):
    assert load_adapter(stored).transform(np.empty((0, 2))).shape == (0, 3)


def test_side_information_goes_with_its_row(make, tmp_path):
    make(side_size=2).save(tmp_path / "adapter")
    rows = np.zeros((5000, 2), np.float32)
    side = np.arange(10_000.0).reshape(5000, 2)

    adapter = load_adapter(tmp_path / "adapter")

    assert adapter.side_size == 2
    mapped = adapter.transform(rows, side_information=side)
    np.testing.assert_array_equal(mapped[:, 0], side.sum(axis=1))


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (None, r"should have shape \(1, 2\): this map was fitted with it"),
        (np.ones((1, 3)), r"`side_information` should have shape \(n, 2\)"),
        (np.ones((2, 2)), "2 rows for 1 embedding"),
        (np.full((1, 2), np.nan), "`side_information` should be finite"),
    ],
)
def test_wrong_side_information_is_refused(make, side, message):
    with pytest.raises(ValueError, match=message):
        make(side_size=2).transform(np.ones((1, 2)), side_information=side)


def test_variances_of_components_are_summed(make):
    # log(3 e^x) = x + log 3
    found = make(variances=3).log_variance(np.array([[1.0, 0.0], [-2.0, 0.0]]))

    np.testing.assert_allclose(found, np.array([1.0, -2.0]) + np.log(3), rtol=1e-6)


def test_a_network_may_have_no_variance(make):
    adapter = make(variances=0)

    assert adapter.log_variance(np.ones((1, 2))) is None
    assert adapter.transform_with_variance(np.ones((1, 2)))[1] is None


def test_rows_of_the_wrong_kind_are_refused(stored):
    adapter = load_adapter(stored)

    with pytest.raises(ValueError, match=r"`old` should have shape \(n, 2\)"):
        adapter.transform(np.ones((1, 3)))
    with pytest.raises(ValueError, match="`old` should be finite"):
        adapter.transform(np.array([[np.inf, 0.0]]))
    with pytest.raises(ValueError, match="rows of 'new-model'"):
        adapter.log_variance(np.ones((1, 2)), fingerprint="new-model")
    with pytest.raises(ValueError, match="a network has no inverse"):
        adapter.inverse_transform(np.ones((1, 3)))


def test_rows_that_float32_cannot_hold_are_refused(make):
    adapter = make(side_size=1)
    rows, side = np.ones((5000, 2)), np.ones((5000, 1))
    large = np.where(np.arange(5000) == 4500, 1e39, 1.0)[:, None]

    with pytest.raises(ValueError, match=r"`old` .* float32.* 1.0e\+39 in row 4500"):
        adapter.transform(rows * large, side_information=side)
    with pytest.raises(ValueError, match=r"`side_information` .* float32.* row 4500"):
        adapter.log_variance(rows, side_information=side * large)


def test_rows_that_a_network_takes_to_infinity_are_refused(stored):
    # The network doubles them.
    with pytest.raises(ValueError, match=r"`old` .* row 1, which is mapped to"):
        load_adapter(stored).transform(np.array([[1.0, 1.0], [1.0, 3e38]]))


def test_is_a_savedmodel_that_others_can_serve(stored):
    served = tf.saved_model.load(str(stored)).signatures["transform"]

    assert (stored / "saved_model.pb").is_file()
    assert served(tf.ones((1, 2)))["embedding"].numpy().tolist() == [[2, 2, 0]]


def test_a_loaded_adapter_can_be_saved_elsewhere(stored, tmp_path):
    load_adapter(stored).save(tmp_path / "copy")
    load_adapter(stored).save(stored)

    for directory in (stored, tmp_path / "copy"):
        assert load_adapter(directory).transform(np.ones((1, 2))).tolist() == [
            [2, 2, 0]
        ]


def test_a_copy_has_the_models_files_alone(stored, tmp_path):
    own = {path.relative_to(stored) for path in stored.rglob("*")}
    for name in ("notes.txt", ".writing-abcd1234/x", "assets.extra/manifest.json"):
        (stored / name).parent.mkdir(exist_ok=True)
        (stored / name).write_text("of somebody else")

    load_adapter(stored).save(tmp_path / "copy")

    copied = {p.relative_to(tmp_path / "copy") for p in (tmp_path / "copy").rglob("*")}
    assert copied == own


@pytest.mark.parametrize("became", ["another", "removed"])
def test_another_model_than_was_loaded_is_not_saved_in_its_place(
    stored, make, sides, tmp_path, became
):
    loaded = load_adapter(stored)
    affine = AffineMap(np.eye(2), np.zeros(2))
    kept = OldToNew(map=affine, method="by hand", pairs=0, **sides)
    kept.save(tmp_path / "kept")
    if became == "removed":
        shutil.rmtree(stored)
    else:
        make(variances=2).save(stored)

    with pytest.raises(ValueError, match=r"that were loaded. Received: .*adapter"):
        loaded.save(tmp_path / "kept")

    assert load_adapter(tmp_path / "kept").method == "by hand"


def test_a_closed_form_saved_over_it_leaves_nothing_of_it(stored, sides):
    affine = AffineMap(np.eye(2), np.zeros(2))
    OldToNew(map=affine, method="by hand", pairs=0, **sides).save(stored)

    assert sorted(path.name for path in stored.rglob("*")) == [
        "adapter.json",
        "adapter_matrix.npy",
        "adapter_offset.npy",
    ]


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "variables/variables.index", "adapter.json"]
)
def test_a_copy_that_was_cut_off_is_refused(stored, name):
    (stored / name).unlink()

    error = FileNotFoundError if name == "adapter.json" else ValueError
    with pytest.raises(error, match=name):
        load_adapter(stored)


def test_changed_weights_are_refused(stored):
    (weights,) = (stored / "variables").glob("variables.data*")
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")

    with pytest.raises(ValueError, match=r"another variables.*data.* than was"):
        load_adapter(stored)


def test_the_other_direction_is_refused_before_anything_is_loaded(stored):
    (stored / "saved_model.pb").unlink()

    with pytest.raises(ValueError, match=r"new-to-old. Received: .* is old-to-new"):
        NewToOld.load(stored)


def test_a_model_of_another_form_than_described_is_refused(stored):
    path = stored / "adapter.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"side_size": 4}))

    with pytest.raises(ValueError, match="says side_size 4, its map has None"):
        load_adapter(stored)


def test_a_savedmodel_without_the_signature_is_refused(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path))

    with pytest.raises(ValueError, match="with signature 'transform'"):
        SavedModelMap.load(tmp_path)


def test_a_signature_of_another_form_is_refused(tmp_path):
    class Flat(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
        def transform(self, rows):
            return {"embedding": rows}

    flat = Flat()
    tf.saved_model.save(flat, str(tmp_path), {"transform": flat.transform})

    with pytest.raises(ValueError, match="should take embeddings"):
        SavedModelMap.load(tmp_path)


def test_a_directory_without_a_model_is_a_clear_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"saved_model\.pb"):
        SavedModelMap.load(tmp_path)

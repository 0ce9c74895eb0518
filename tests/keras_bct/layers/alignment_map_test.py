import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.layers import AlignmentMap

OLD, SIDE, NEW, HIDDEN = 3, 4, 5, 6


def rows(size, count=8, seed=0):
    return np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)


def moved(layer):
    """The layer with moving averages, scales and offsets that are no longer 0 and 1."""
    rng = np.random.default_rng(3)
    for weight in layer.weights:
        if weight.path.endswith(("moving_variance", "gamma")):
            weight.assign(rng.uniform(0.5, 2.0, weight.shape))
        elif not weight.path.endswith("kernel"):
            weight.assign(rng.normal(size=weight.shape))
    return layer


def by_hand(layer, old, side=None, by_batch=False):
    """h in float64, from the paper's words."""
    side = old if side is None else side

    def block(values, unit):
        normal = unit.normalise
        values = values @ np.asarray(unit.dense.kernel, np.float64)
        mean, variance = normal.moving_mean, normal.moving_variance
        if by_batch:
            mean, variance = values.mean(axis=0), values.var(axis=0)
        mean, variance = (np.asarray(m, np.float64) for m in (mean, variance))
        values = (values - mean) / np.sqrt(variance + normal.epsilon)
        values = values * np.asarray(normal.gamma) + np.asarray(normal.beta)
        return np.maximum(values, 0)

    old, side = np.asarray(old, np.float64), np.asarray(side, np.float64)
    first = block(block(old, layer.old_1), layer.old_2)
    second = block(block(side, layer.side_1), layer.side_2)
    both = np.concatenate([first, second], axis=1)
    hidden = block(block(both, layer.hidden_1), layer.hidden_2)
    return hidden @ np.asarray(layer.last.kernel) + np.asarray(layer.last.bias)


def built(side=None, **options):
    layer = AlignmentMap(NEW, hidden_size=HIDDEN, seed=1, **options)
    layer.build((None, OLD), None if side is None else (None, side))
    return moved(layer)


def test_gives_what_the_paper_describes():
    layer = built()
    np.testing.assert_allclose(layer(rows(OLD)), by_hand(layer, rows(OLD)), atol=1e-5)


def test_side_information_goes_through_a_projection_of_its_own():
    layer = built(SIDE)
    old, side = rows(OLD), rows(SIDE, seed=1)
    np.testing.assert_allclose(layer(old, side), by_hand(layer, old, side), atol=1e-5)


def test_its_layers_have_the_sizes_of_the_paper():
    shapes = [tuple(w.shape) for w in built(SIDE).weights if "kernel" in w.path]
    assert shapes == [
        (OLD, 2 * OLD),
        (2 * OLD, 2 * NEW),
        (SIDE, 2 * SIDE),
        (2 * SIDE, 2 * NEW),
        (4 * NEW, HIDDEN),
        (HIDDEN, HIDDEN),
        (HIDDEN, NEW),
    ]


def test_only_the_last_layer_has_a_bias():
    assert [w.path.split("/")[-1] for w in built().weights].count("bias") == 1


def test_in_training_it_normalises_by_the_batch():
    layer = built()
    np.testing.assert_allclose(
        layer(rows(OLD), training=True),
        by_hand(layer, rows(OLD), by_batch=True),
        atol=1e-4,
    )


def test_without_batch_statistics_training_is_like_inference():
    layer = built(batch_statistics=False)
    before = layer.get_weights()
    np.testing.assert_array_equal(layer(rows(OLD), training=True), layer(rows(OLD)))
    for weight, was in zip(layer.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, was)


def test_without_batch_statistics_scale_and_offset_still_train():
    layer = built(batch_statistics=False)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(layer(rows(OLD), training=True) ** 2)
    gradients = tape.gradient(total, [w.value for w in layer.trainable_weights])
    paths = [w.path for w in layer.trainable_weights]
    assert {"gamma", "beta"} <= {path.split("/")[-1] for path in paths}
    assert all(gradient is not None for gradient in gradients)


@pytest.mark.parametrize("by_batch", [False, True])
def test_gradients_are_those_of_the_formula_in_float64(by_batch):
    layer = built(batch_statistics=by_batch)
    old = tf.constant(rows(OLD))
    pull = rows(NEW, seed=7).astype(np.float64)
    with tf.GradientTape() as tape:
        tape.watch(old)
        total = tf.reduce_sum(layer(old, training=True) * pull.astype(np.float32))
    found = tape.gradient(total, old).numpy()
    wanted, step = np.empty_like(pull[:, :OLD]), 1e-6
    for index in np.ndindex(wanted.shape):
        ends = []
        for sign in (1, -1):
            point = rows(OLD).astype(np.float64)
            point[index] += sign * step
            ends.append((by_hand(layer, point, by_batch=by_batch) * pull).sum())
        wanted[index] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())


def test_same_seed_same_weights():
    def weights(seed):
        layer = AlignmentMap(NEW, hidden_size=HIDDEN, seed=seed)
        layer.build((None, OLD))
        return np.concatenate([weight.ravel() for weight in layer.get_weights()])

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_regulariser_counts_every_kernel():
    layer = built(kernel_regularizer=keras.regularizers.L2(0.5))
    kernels = [w.numpy() for w in layer.weights if "kernel" in w.path]
    np.testing.assert_allclose(
        np.sum(layer.losses), 0.5 * sum((k.astype(float) ** 2).sum() for k in kernels)
    )


@pytest.mark.parametrize("side", [None, SIDE])
@pytest.mark.parametrize("batch_statistics", [True, False])
def test_comes_back_from_config_and_keras_file(side, batch_statistics, tmp_path):
    layer = built(
        side,
        batch_statistics=batch_statistics,
        kernel_regularizer=keras.regularizers.L2(0.1),
    )
    again = AlignmentMap.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    inputs = [keras.Input((OLD,))] + ([] if side is None else [keras.Input((side,))])
    model = keras.Model(inputs, layer(*inputs))
    model.save(tmp_path / "map.keras")
    loaded = keras.models.load_model(tmp_path / "map.keras")
    values = [rows(OLD), rows(SIDE, seed=1)][: len(inputs)]
    np.testing.assert_array_equal(loaded(values), model(values))


def test_comes_back_from_a_saved_model(tmp_path):
    inputs = keras.Input((OLD,))
    model = keras.Model(inputs, built()(inputs))
    model.export(tmp_path / "map", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "map")
    np.testing.assert_allclose(loaded.serve(rows(OLD)), model(rows(OLD)), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding_size": 0}, "`embedding_size` should be a whole number.*0"),
        ({"embedding_size": 3, "hidden_size": 1.5}, "`hidden_size`.*1.5"),
    ],
)
def test_a_size_that_is_none_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        AlignmentMap(**options)


def test_input_of_another_rank_is_refused():
    with pytest.raises(ValueError, match=r"`old` should have shape \(batch, n\)"):
        AlignmentMap(NEW).build((None, 2, OLD))

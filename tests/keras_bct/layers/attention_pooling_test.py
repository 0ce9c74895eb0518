import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.layers import AttentionPooling

MEDIA = np.array([[[2, 0], [4, 2], [9, 9]], [[1, 1], [3, 5], [5, 3]]], "float32")


def pooled(layer, mask=None):
    return keras.ops.convert_to_numpy(layer(MEDIA, mask=mask))


def test_untrained_it_is_the_mean():
    np.testing.assert_allclose(
        pooled(AttentionPooling()), MEDIA.mean(axis=1), rtol=1e-6
    )


def test_padding_counts_for_nothing():
    mask = np.array([[True, True, False], [False, True, False]])

    np.testing.assert_allclose(
        pooled(AttentionPooling(), mask), [[3, 1], [3, 5]], rtol=1e-6
    )


def test_weights_are_the_softmax_of_the_products_with_q():
    layer = AttentionPooling()
    layer.build(MEDIA.shape)
    q = np.array([0.5, -0.25], "float32")
    layer.set_weights([q])
    weights = np.exp(MEDIA @ q)
    weights /= weights.sum(axis=1, keepdims=True)

    np.testing.assert_allclose(
        pooled(layer), (weights[..., None] * MEDIA).sum(axis=1), rtol=1e-5
    )


def test_it_comes_back_from_a_file(tmp_path):
    inputs = keras.Input((None, 2))
    model = keras.Model(inputs, AttentionPooling(name="pool")(inputs))
    model.get_layer("pool").set_weights([np.array([1.0, -1.0], "float32")])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")

    np.testing.assert_allclose(
        again.predict(MEDIA, verbose=0), model.predict(MEDIA, verbose=0)
    )
    assert model.output_shape == (None, 2)


def test_it_learns_which_medium_is_good():
    """The first component says whether the second one can be trusted."""
    generator = np.random.default_rng(0)
    truth = generator.normal(size=(256, 1, 1))
    good = generator.integers(0, 2, (256, 4, 1))
    good[:, 0] = 1
    noise = (1 - good) * 5 * generator.normal(size=(256, 4, 1))
    media = np.concatenate([good, truth + noise], axis=-1).astype("float32")
    keras.utils.set_random_seed(0)
    inputs = keras.Input((4, 2))
    model = keras.Model(inputs, AttentionPooling()(inputs)[:, 1:])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    before = model.evaluate(media, truth[:, 0], verbose=0)
    model.fit(media, truth[:, 0], epochs=10, verbose=0)

    assert model.evaluate(media, truth[:, 0], verbose=0) < 0.1 * before


def test_a_single_embedding_has_no_media():
    with pytest.raises(ValueError, match="media"):
        AttentionPooling()(MEDIA[0])


def test_a_template_that_is_all_padding_is_refused():
    mask = np.ones(MEDIA.shape[:2], bool)
    mask[-1] = False
    message = f"one medium or more.*for sample {len(MEDIA) - 1} of the batch"
    with pytest.raises(ValueError, match=message):
        AttentionPooling()(MEDIA, mask=mask)
    layer = AttentionPooling()
    with pytest.raises(tf.errors.InvalidArgumentError, match="one medium or more"):
        tf.function(lambda media, mask: layer(media, mask=mask))(MEDIA, mask)


def test_where_xla_cannot_refuse_padding_it_has_no_mean():
    layer = AttentionPooling()
    layer.build(MEDIA.shape)
    mask = np.ones(MEDIA.shape[:2], bool)
    mask[-1] = False
    compiled = tf.function(
        lambda media, mask: layer.call(media, mask=mask), jit_compile=True
    )
    pooled = compiled(tf.constant(MEDIA), tf.constant(mask)).numpy()
    assert np.isnan(pooled[-1]).all()
    np.testing.assert_allclose(pooled[:-1], MEDIA[:-1].mean(axis=1), rtol=1e-5)

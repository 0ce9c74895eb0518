import keras
import numpy as np
import pytest

from keras_bct.models import glyph_network


def test_pictures_become_embeddings():
    network = glyph_network(64, 4)
    given = network(np.zeros((3, 32, 32, 1), "float32"))
    assert given.shape == (3, 64)
    assert given.dtype == "float32"


def test_has_five_convolutions_as_wide_as_asked():
    network = glyph_network(64, 4)
    widths = [
        layer.filters
        for layer in network.layers
        if isinstance(layer, keras.layers.Conv2D)
    ]
    assert len(widths) == 5
    assert widths[0] == 4
    assert all(width % 4 == 0 for width in widths)


def test_seed_makes_the_same_weights_and_layers_differ():
    first, second, other = (glyph_network(8, 4, seed=seed) for seed in (1, 1, 2))
    for weight, same in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, same)
    assert not np.array_equal(first.get_weights()[0], other.get_weights()[0])


def test_comes_back_from_a_keras_file(tmp_path):
    network = glyph_network(8, 4, seed=0)
    network.save(tmp_path / "network.keras")
    pictures = np.random.default_rng(0).uniform(0, 255, (2, 32, 32, 1))
    again = keras.models.load_model(tmp_path / "network.keras")
    np.testing.assert_array_equal(again(pictures), network(pictures))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"embedding_size": 0}, "at least 1"),
        ({"width": 0}, "at least 1"),
        ({"image_shape": (4, 32, 1)}, "height and width at least 8"),
        ({"image_shape": (32, 32)}, "`image_shape` should be"),
    ],
)
def test_refuses_what_it_cannot_build(arguments, message):
    with pytest.raises(ValueError, match=message):
        glyph_network(**arguments)

import keras
import numpy as np
import pytest

from keras_bct.models import resnet


def trainable(model):
    return sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)


def test_resnet_18_has_the_papers_number_of_weights():
    # 11,176,512 below the classifier (torchvision counts the same), then 512 x 64 + 64.
    model = resnet(18, 64, image_shape=(64, 64, 3))
    assert trainable(model) == 11_176_512 + 512 * 64 + 64


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "below"), [(50, 23_587_712), (152, 58_370_944)])
def test_deeper_ones_are_those_of_keras(depth, below):
    model = resnet(depth, 128, image_shape=(32, 32, 3))
    assert model.count_params() == below + 2048 * 128 + 128


@pytest.mark.parametrize("side", [32, 64])
def test_takes_pictures_of_many_sizes(side):
    model = resnet(18, 16, image_shape=(side, side, 1))
    embeddings = model(np.zeros((2, side, side, 1), "float32"))
    assert embeddings.shape == (2, 16)
    assert np.isfinite(embeddings).all()


def test_batchnorm_is_synchronised_between_replicas():
    (trunk,) = (
        layer
        for layer in resnet(18, 16, image_shape=(32, 32, 1)).layers
        if isinstance(layer, keras.Model)
    )
    norms = [
        layer
        for layer in trunk.layers
        if isinstance(layer, keras.layers.BatchNormalization)
    ]
    assert len(norms) == 20
    assert all(layer.synchronized for layer in norms)


def test_seed_makes_the_same_weights_and_layers_differ():
    first, second = (resnet(18, 8, image_shape=(32, 32, 1), seed=3) for _ in range(2))
    for weight, same in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, same)
    kernels = [w.numpy() for w in first.weights if w.shape == (3, 3, 64, 64)]
    assert len(kernels) == 4
    assert not np.array_equal(kernels[0], kernels[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depth": 34}, "`depth` should be one of 18, 50, 101, 152"),
        ({"depth": 18, "embedding_size": 0}, "`embedding_size`"),
        ({"depth": 18, "image_shape": (16, 16, 3)}, "at least 32"),
    ],
)
def test_refuses_what_it_cannot_build(arguments, message):
    with pytest.raises(ValueError, match=message):
        resnet(**arguments)

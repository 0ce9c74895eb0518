import keras
import numpy as np
import pytest

from keras_bct.layers import SimplexHead
from keras_bct.losses import Softmax


@pytest.mark.parametrize("classes", [2, 3, 7, 200])
def test_every_two_vertices_stand_at_the_same_angle(classes):
    head = SimplexHead(classes)
    head.build((None, classes - 1))
    cosines = head.weights_by_class() @ head.weights_by_class().T
    wanted = np.full((classes, classes), -1 / (classes - 1))
    np.fill_diagonal(wanted, 1.0)
    np.testing.assert_allclose(cosines, wanted, atol=1e-5)


def test_nothing_is_trained():
    head = SimplexHead(4)
    head.build((None, 3))
    assert head.trainable_weights == []


def test_gives_inner_products():
    head = SimplexHead(4)
    embeddings = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    np.testing.assert_allclose(
        head(embeddings), embeddings @ head.weights_by_class().T, atol=1e-6
    )


def test_embedding_has_one_component_less_than_classes():
    with pytest.raises(ValueError, match="embedding_size=9"):
        SimplexHead(10)(np.zeros((1, 10), "float32"))


def test_two_versions_hold_the_same_rows():
    first, second = SimplexHead(6), SimplexHead(6)
    for head in (first, second):
        head.build((None, 5))
    np.testing.assert_array_equal(first.weights_by_class(), second.weights_by_class())


def test_its_classifier_is_a_simplex():
    head = SimplexHead(3)
    head.build((None, 2))
    classifier = head.to_classifier(Softmax(), ["a", "b", "c"])
    assert classifier.kind == "simplex"


def test_comes_back_from_a_keras_file(tmp_path):
    model = keras.Sequential([keras.Input((3,)), SimplexHead(4)])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.get_weights()[0], model.get_weights()[0])

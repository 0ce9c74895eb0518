"""A setting out of an array, a sweep or a table is one of NumPy's scalars."""

import json

import numpy as np
import pytest

from keras_bct import layers, losses, models
from keras_bct.alignment import AlignmentRecipe
from keras_bct.data import ColourDistortion, HorizontalFlip, Misalignment
from keras_bct.evaluation import Bootstrap, Gate, Protocol, Source
from keras_bct.training import OptimizerSettings, Recipe

ONE, TWO, SEED = np.float32(1), np.int64(2), np.int64(3)
TRUE = np.bool_(True)

CONFIGURED = {
    "Alignment": lambda: losses.Alignment(
        None, losses.Softmax(label_smoothing=np.float32(0.5)), discriminative_weight=ONE
    ),
    "ArcFace": lambda: losses.ArcFace(scale=TWO, margin=ONE),
    "Contrastive": lambda: losses.Contrastive(temperature=ONE),
    "CosFace": lambda: losses.CosFace(scale=ONE, margin=ONE),
    "Distillation": lambda: losses.Distillation(losses.Softmax(), temperature=ONE),
    "FastFill": lambda: losses.FastFill(
        losses.Alignment(None, losses.Softmax()), log_variance_weight=ONE
    ),
    "NormSoftmax": lambda: losses.NormSoftmax(scale=ONE),
    "SphereFace": lambda: losses.SphereFace(scale=ONE, margin=TWO),
    "AlignmentMap": lambda: layers.AlignmentMap(
        TWO, hidden_size=TWO, seed=SEED, batch_statistics=TRUE
    ),
    "CosineHead": lambda: layers.CosineHead(TWO, with_length=TRUE, seed=SEED),
    "LinearHead": lambda: layers.LinearHead(TWO, use_bias=TRUE, seed=SEED),
    "NormalisedDense": lambda: layers.NormalisedDense(TWO),
    "ResidualAlignment": lambda: layers.ResidualAlignment(
        np.eye(2), np.zeros(2), hidden_size=TWO, dropout=np.float32(0.5), seed=SEED
    ),
    "SimplexHead": lambda: layers.SimplexHead(TWO),
    "UncertaintyHead": lambda: layers.UncertaintyHead(TWO),
    "ColourDistortion": lambda: ColourDistortion(
        brightness=np.float32(0.5), hue=TWO, seed=SEED
    ),
    "HorizontalFlip": lambda: HorizontalFlip(probability=ONE, seed=SEED),
    "Misalignment": lambda: Misalignment(rotation=TWO, seed=SEED),
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_what_numpy_scalars_configure_is_saved(name):
    made = CONFIGURED[name]()
    config = json.loads(json.dumps(made.get_config()))
    assert json.loads(json.dumps(type(made).from_config(config).get_config())) == config


@pytest.mark.parametrize(
    "network",
    [
        lambda size, seed: models.glyph_network(size, size, seed=seed),
        lambda size, seed: models.deep_glyph_network(size, size, seed=seed),
        lambda size, seed: models.resnet(18, size, image_shape=(32, 32, 1), seed=seed),
    ],
)
def test_a_networks_size_and_seed_may_be_numpys(network):
    made, same = network(TWO, SEED), network(2, 3)
    assert json.loads(made.to_json())
    for one, other in zip(made.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_recipes_settings_become_pythons_own():
    recipe = AlignmentRecipe(unit_length=TRUE, seed=SEED, learning_rate=np.float32(0.5))
    assert recipe == AlignmentRecipe(unit_length=True, seed=3, learning_rate=0.5)
    assert type(recipe.unit_length) is bool


def test_a_sweep_trains_under_the_digest_of_pythons_own_numbers():
    def recipe(number, whole):
        return Recipe(
            method="beta",
            learning_rate=number(0.5),
            optimizer=OptimizerSettings(momentum=number(0.5)),
            influence_weight=number(2),
            embedding_size=whole(8),
            width=whole(4),
            steps=whole(10),
            seed=whole(3),
        )

    swept = json.dumps(recipe(np.float32, np.int64).digested(), sort_keys=True)
    assert swept == json.dumps(recipe(float, int).digested(), sort_keys=True)


def test_a_protocol_has_the_digest_of_pythons_own_numbers():
    def protocol(number, whole):
        return Protocol(
            name="faces",
            queries=Source("embeddings", "queries.npz"),
            gallery=Source("embeddings", "gallery.npz"),
            metrics=("retrieval/mAP",),
            first_components=whole(8),
            gate=Gate(confidence=number(0.75), min_gain=number(0.5)),
            bootstrap=Bootstrap(replicates=whole(200), seed=whole(3)),
        )

    assert protocol(np.float32, np.int64).digest() == protocol(float, int).digest()

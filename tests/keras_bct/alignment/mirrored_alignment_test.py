"""Two replicas must end with the weights that one device ends with."""

import sys

import numpy as np
import pytest

from tests.keras_bct import two_devices

RECIPES = {
    "published": {"hidden_size": 8, "warm_up_epochs": 1},
    "residual": {
        "hidden_size": 8,
        "base": "ridge",
        "components": "sum",
        "held_out_classes": 0.2,
        "uncertainty": "components",
        "unit_length": True,
        "warm_up_epochs": 0,
    },
}
ODD = {
    "published, odd": RECIPES["published"],
    "residual, odd": {**RECIPES["residual"], "held_out_classes": 0.0},
}
"""Fewer pairs than a batch should have, which two devices cannot share evenly."""


def train(name, strategy):
    from keras_bct.alignment import AlignmentRecipe, fit_alignment
    from keras_bct.classifier import Classifier

    rng = np.random.default_rng(0)
    items, batch_size = 80, 16
    if name in ODD:
        # One device would take all 63 at once, two take as many as they can share.
        items = 63
        batch_size = 1024 if strategy.num_replicas_in_sync == 2 else 62
    old = rng.normal(size=(items, 4)).astype("float32")
    classifier = Classifier(
        "cosface", rng.normal(size=(4, 6)), tuple("abcd"), scale=8.0, margin=0.2
    )
    recipe = AlignmentRecipe(
        epochs=4, batch_size=batch_size, weight_decay=1e-2, **(RECIPES | ODD)[name]
    )
    with strategy.scope():
        model = fit_alignment(
            recipe,
            old,
            np.tanh(old @ rng.normal(size=(4, 6))),
            # Class e has no row in the classifier, and counts in L_l2 alone.
            labels=["abcde"[row % 5] for row in range(items)],
            classifier=classifier,
        )
    return model.get_weights()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return two_devices.trained(__file__, tmp_path_factory.mktemp("mirrored"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RECIPES, *ODD])
def test_two_devices_end_with_the_weights_of_one(trained, name):
    two_devices.assert_two_end_as_one(trained, name)


if __name__ == "__main__":
    two_devices.save(sys.argv[1], RECIPES | ODD, train)

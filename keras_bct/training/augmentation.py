"""The changes of training pictures that a recipe names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bct import data
from keras_bct.data.random_change import RandomChange
from keras_bct.data.training_batches import Change

_LAYERS: dict[str, type[RandomChange]] = {
    "misalignment": data.Misalignment,
    "colour": data.ColourDistortion,
    "flip": data.HorizontalFlip,
}


def make_augmentation(names: Sequence[str]) -> Change | None:
    """Puts the named changes together, for `training_dataset(augmentation=...)`.

    Args:
        names: Of `plain`, `misalignment`, `colour` and `flip`, in order.

    Returns:
        A function of pictures and a seed, or None where there is no change.

    Example:
        >>> faces = make_augmentation(["misalignment", "colour"])
        >>> faces(tf.zeros((2, 8, 8, 3)), tf.constant([0, 1], tf.int64)).shape
        TensorShape([2, 8, 8, 3])
    """
    if not names:
        return None
    changes: list[Change] = [
        data.Augmentation() if name == "plain" else data.stateless(_LAYERS[name]())
        for name in names
    ]
    if len(changes) == 1:
        return changes[0]

    def augment(images: tf.Tensor, seed: tf.Tensor) -> Any:
        for number, change in enumerate(changes):
            # Each change draws from a stream of its own.
            images = change(images, tf.random.fold_in(seed, number))
        return images

    return augment

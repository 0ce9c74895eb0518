"""The named changes of a recipe, alone and one after the other."""

import numpy as np
import tensorflow as tf

from keras_bct.data import Augmentation
from keras_bct.training.augmentation import make_augmentation

IMAGES = tf.constant(
    np.random.default_rng(0).uniform(0, 255, (6, 16, 16, 3)).astype("float32")
)
SEED = tf.constant([3, 7], tf.int64)


def test_no_change_is_none():
    assert make_augmentation(()) is None


def test_plain_is_the_augmentation_that_the_batches_have_by_default():
    changed = make_augmentation(("plain",))(IMAGES, SEED)
    np.testing.assert_array_equal(changed, Augmentation()(IMAGES, SEED))


def test_flip_mirrors_some_pictures_and_nothing_else():
    changed = make_augmentation(("flip",))(IMAGES, SEED).numpy()
    mirrored = IMAGES.numpy()[:, :, ::-1]
    which = [
        np.array_equal(one, other) for one, other in zip(changed, mirrored, strict=True)
    ]
    kept = [
        np.array_equal(one, other) for one, other in zip(changed, IMAGES, strict=True)
    ]
    assert any(which)
    assert np.logical_xor(which, kept).all()


def test_changes_come_in_order_and_each_draws_for_itself():
    both = make_augmentation(("misalignment", "colour"))(IMAGES, SEED)
    first = make_augmentation(("misalignment",))(IMAGES, tf.random.fold_in(SEED, 0))
    wanted = make_augmentation(("colour",))(first, tf.random.fold_in(SEED, 1))
    np.testing.assert_array_equal(both, wanted)
    again = make_augmentation(("misalignment", "colour"))(IMAGES, SEED)
    np.testing.assert_array_equal(both, again)
    other = make_augmentation(("misalignment", "colour"))(
        IMAGES, tf.constant([3, 8], tf.int64)
    )
    assert not np.array_equal(both, other)

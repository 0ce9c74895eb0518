"""Pictures and changed copies of them, to fit maps to more than what models learnt."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bct.data import Augmentation, ImageRecords
from keras_bct.data.decoding import decode_pictures

COPIES = 3

_IN_A_BATCH = 512


def with_changed_copies(
    records: ImageRecords,
    image_shape: tuple[int, int, int],
    *,
    copies: int = COPIES,
    seed: int = 0,
) -> ImageRecords:
    """Give pictures, and after them changed copies of all.

    A model has learnt its training pictures by heart; on a copy that is shifted, turned
    and faded as in training it errs a little, as on pictures to come.

    Args:
        records: n pictures.
        image_shape: Height, width and channels of each.
        copies: How many of each.
        seed: Of the changes.

    Returns:
        `n (1 + copies)` pictures, PNG; the ids of copies end in `#1`, `#2` and so on.

    Raises:
        ValueError: A picture has another shape.
    """
    pictures = decode_pictures(records, image_shape)
    change = Augmentation()
    images = list(records.images)
    for copy in range(1, copies + 1):
        for start in range(0, len(pictures), _IN_A_BATCH):
            batch = tf.cast(pictures[start : start + _IN_A_BATCH], tf.float32)
            changed = change(batch, tf.constant([seed, copy * len(pictures) + start]))
            images.extend(_png(picture) for picture in changed)
    suffixes = ["", *(f"#{copy}" for copy in range(1, copies + 1))]
    return dataclasses.replace(
        records,
        ids=np.concatenate([np.char.add(records.ids, end) for end in suffixes]),
        images=images,
        labels=np.tile(records.labels, 1 + copies),
        cameras=None
        if records.cameras is None
        else np.tile(records.cameras, 1 + copies),
    )


def _png(picture: Any) -> bytes:
    rounded = tf.cast(tf.clip_by_value(tf.round(picture), 0, 255), tf.uint8)
    return bytes(tf.io.encode_png(rounded).numpy())

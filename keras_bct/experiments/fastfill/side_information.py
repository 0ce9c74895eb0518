"""Side information: features that a model learnt without labels (SimCLR)."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.array_file import write_array
from keras_bct.data import read_records
from keras_bct.experiments.harness.trained_versions import TrainedVersions
from keras_bct.written_whole import written_whole

_PART = "old"


@dataclasses.dataclass(frozen=True)
class SimCLR:
    """How the features are learnt: two changed copies of a picture, told apart.

    The loss is NT-Xent: of all other pictures of the batch, in both copies, the copy
    of the same picture must be the nearest by cosine over the temperature.

    Attributes:
        width: Channels of the network's first convolution.
        size: Components of the features.
        steps: Number of batches.
        batch_size: Pictures in a batch, each in two copies.
        learning_rate: The highest learning rate, falling along a cosine.
        temperature: What cosines are divided by.
        seed: Of weights, batches and augmentation.

    References:
        Chen et al., ICML 2020; Ramanujan et al., CVPR 2022, take such features as the
        side information of FCT.
    """

    width: int = 8
    size: int = 32
    steps: int = 600
    batch_size: int = 256
    learning_rate: float = 2e-3
    temperature: float = 0.2
    seed: int = 0


class SideInformation:
    """The features of any part's pictures; learnt once on the old model's pictures.

    Args:
        versions: The output folder and the pictures.
        say: Takes a line of progress.
        settings: How they are learnt.
    """

    def __init__(
        self,
        versions: TrainedVersions,
        say: Callable[[str], None] = print,
        settings: SimCLR = SimCLR(),
    ) -> None:
        self._versions = versions
        self._say = say
        self._settings = settings

    def digest(self) -> str:
        """Names the features: SHA-256 (hex) of settings and pictures."""
        content = f"{self._settings!r} {self._versions.data_digests[_PART]}"
        return hashlib.sha256(content.encode()).hexdigest()

    def of(self, part: str) -> npt.NDArray[np.float32]:
        """Gives (n, size) features of a part's pictures, in their order."""
        folder = self._versions.directory / "side-information" / self.digest()[:16]
        stored = folder / f"{part}.npy"
        if not stored.exists():
            model = folder / "network.keras"
            if not model.exists():
                self._say(f"learning side information into {folder}")
                network = _learn(self._settings, self._versions.records(_PART))
                with written_whole(model) as unfinished:
                    network.save(unfinished)
            features = _features(model, self._versions.records(part))
            with written_whole(stored) as unfinished:
                write_array(unfinished, features)
        return np.asarray(np.load(stored, allow_pickle=False))


def _learn(settings: SimCLR, records: Path) -> Any:
    import keras
    import tensorflow as tf

    from keras_bct.data import Augmentation, training_dataset
    from keras_bct.models import glyph_network

    names = sorted(set(read_records(os.fspath(records)).labels.tolist()))
    network = glyph_network(settings.size, settings.width, seed=settings.seed)
    change = Augmentation(shift=0.1, scale=0.2, rotation=10, contrast=0.4)
    batches = training_dataset(
        os.fspath(records),
        class_names=names,
        image_shape=network.input_shape[1:],
        batch_size=settings.batch_size,
        seed=settings.seed,
        augmentation=None,
    ).take(settings.steps)
    schedule = keras.optimizers.schedules.CosineDecay(
        settings.learning_rate, settings.steps
    )
    optimizer = keras.optimizers.Adam(schedule)

    @tf.function
    def step(copies: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = nt_xent(network(copies, training=True), settings.temperature)
        weights = network.trainable_variables
        optimizer.apply_gradients(
            zip(tape.gradient(loss, weights), weights, strict=True)
        )
        return loss

    for number, (images, _) in enumerate(batches):
        seeds = [tf.constant([settings.seed, 2 * number + copy]) for copy in (0, 1)]
        step(tf.concat([change(images, seed) for seed in seeds], axis=0))
    return network


def nt_xent(features: Any, temperature: float) -> Any:
    """Gives SimCLR's loss.

    Args:
        features: `(2 n, size)`: row i and row n + i are copies of one picture.
        temperature: What cosines are divided by.

    Returns:
        The mean over all rows, a scalar.
    """
    import tensorflow as tf

    unit = tf.math.l2_normalize(features, axis=1)
    rows = tf.shape(unit)[0]
    logits = tf.matmul(unit, unit, transpose_b=True) / temperature
    logits = tf.linalg.set_diag(logits, tf.fill([rows], -1e9))
    labels = tf.math.floormod(tf.range(rows) + rows // 2, rows)
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    )


def _features(model: Path, records: Path) -> npt.NDArray[np.float32]:
    import keras

    from keras_bct.data.decoding import decode_pictures

    network = keras.models.load_model(model)
    shape = network.input_shape[1:]
    pictures = decode_pictures(read_records(os.fspath(records)), shape)
    return np.concatenate(
        [
            keras.ops.convert_to_numpy(network(pictures[i : i + 512].astype("float32")))
            for i in range(0, len(pictures), 512)
        ]
    )

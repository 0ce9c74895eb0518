"""On how many devices a training runs."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import tensorflow as tf

from keras_bct.training.recipe import Recipe


class Devices:
    """The devices of a recipe's strategy.

    Args:
        recipe: Its strategy and batch size.

    `mirrored` takes every GPU that TensorFlow sees, or where there is none every
    logical CPU.

    Attributes:
        strategy: The `tf.distribute.Strategy`, or None for one device.
        is_chief: Whether this process writes version, checkpoint and scalars.

    Raises:
        ValueError: The batch does not divide by the devices, or several workers are
            asked for and TF_CONFIG names none.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.strategy: Any = None
        self.is_chief = True
        if recipe.strategy == "none":
            return
        if recipe.strategy == "multi-worker":
            self.is_chief = _is_chief()
            self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        else:
            # Without a GPU, TensorFlow's own choice is the first CPU alone.
            devices = tf.config.list_logical_devices("GPU")
            devices = devices or tf.config.list_logical_devices("CPU")
            self.strategy = tf.distribute.MirroredStrategy(
                [device.name for device in devices]
            )
        replicas = self.strategy.num_replicas_in_sync
        if recipe.batch_size % replicas:
            raise ValueError(
                f"`batch_size` should be a multiple of {replicas}, the number of "
                f"devices. Received: {recipe.batch_size}"
            )

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Gives the context in which models and optimizers are made."""
        if self.strategy is None:
            return contextlib.nullcontext()
        scope: contextlib.AbstractContextManager[Any] = self.strategy.scope()
        return scope


def _is_chief() -> bool:
    """Reads this worker's place in TF_CONFIG."""
    try:
        cluster = json.loads(os.environ["TF_CONFIG"])
        kind, index = cluster["task"]["type"], int(cluster["task"]["index"])
        workers = cluster["cluster"]["worker"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            "`strategy` 'multi-worker' reads the workers from the environment variable "
            'TF_CONFIG, such as {"cluster": {"worker": ["host1:2222", "host2:2222"]}, '
            '"task": {"type": "worker", "index": 0}}. Received: '
            f"{os.environ.get('TF_CONFIG')!r}"
        ) from error
    if kind not in ("chief", "worker") or (kind == "worker" and index >= len(workers)):
        raise ValueError(
            "TF_CONFIG should give this process the task of a chief or of one of the "
            f"{len(workers)} workers. Received: {cluster['task']}"
        )
    return kind == "chief" or ("chief" not in cluster["cluster"] and index == 0)

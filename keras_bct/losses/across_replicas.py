"""One batch from the parts that the replicas hold."""

from __future__ import annotations

from typing import Any

import keras


def gathered(values: Any) -> Any:
    """Concatenate a tensor of every replica along its first axis.

    Gradients flow back to the replica that a row came from. Outside of a replica, and
    on one device, it gives `values` as they are.

    Args:
        values: `(batch of this replica, ...)`.

    Returns:
        `(batch of all replicas, ...)`, the same on every replica.
    """
    if keras.backend.backend() != "tensorflow":
        return values
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return values
    return context.all_gather(values, axis=0)

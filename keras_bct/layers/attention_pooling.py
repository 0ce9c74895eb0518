"""Attention pooling: one embedding for a template, its better media weighing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bct.losses.refuse_unless import refuse_unless


@keras.saving.register_keras_serializable(package="keras_bct")
class AttentionPooling(keras.Layer):
    """Media embeddings `(batch, media, d)` to template embeddings `(batch, d)`.

    A learned vector q gives each medium x the weight `softmax(<q, x>)` over the media
    of its template. It starts at zero, where every medium weighs the same: the plain
    mean that IJB-C prescribes. A mask `(batch, media)`, False for padding, keeps
    templates of different sizes in one batch; a template that is all padding is
    refused.

    Args:
        **kwargs: `name` and the like of `keras.Layer`.

    Example:
        >>> import numpy as np
        >>> media = np.array([[[2.0, 0.0], [4.0, 2.0], [9.0, 9.0]]], "float32")
        >>> mask = np.array([[True, True, False]])
        >>> keras.ops.convert_to_numpy(AttentionPooling()(media, mask=mask)).tolist()
        [[3.0, 1.0]]

    References:
        docs/methods.md, section 6; Yang et al., Neural Aggregation Network for Video
        Face Recognition, CVPR 2017, Eq. 2 and 3.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the vector q.

        Raises:
            ValueError: The input is not `(batch, media, d)`.
        """
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "`input_shape` should be (batch, media, components). "
                f"Received: {tuple(input_shape)}."
            )
        self.attention = self.add_weight(
            name="attention", shape=(input_shape[-1],), initializer="zeros"
        )

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Pool the media of each template.

        Args:
            inputs: `(batch, media, d)`.
            mask: `(batch, media)` bool, False for padding; or None.

        Raises:
            ValueError: A template is all padding, where the mask is known; in a graph
                TensorFlow's assertion refuses it, and under XLA it is NaN.
        """
        logits = ops.sum(inputs * self.attention, axis=-1)
        if mask is not None:
            mask = refuse_unless(
                ops.any(mask, axis=-1),
                mask,
                "A template should have one medium or more that its mask leaves; leave "
                "empty templates out of the batch.",
            )
            logits = ops.where(mask, logits, ops.full_like(logits, -1e9))
        weights = ops.softmax(logits, axis=-1)
        pooled = ops.sum(weights[..., None] * inputs, axis=-2)
        if mask is None:
            return pooled
        # Where nothing could refuse it: no medium has no mean.
        return ops.where(ops.any(mask, axis=-1)[:, None], pooled, float("nan"))

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Nothing is masked after the media are pooled."""

    def compute_output_shape(
        self, input_shape: Sequence[int | None]
    ) -> tuple[int | None, ...]:
        """Return `(batch, d)`."""
        return (input_shape[0], input_shape[-1])

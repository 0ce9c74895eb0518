"""FastFill's psi: the error that the alignment map predicts for itself."""

from __future__ import annotations

from typing import Any

import keras


@keras.saving.register_keras_serializable(package="keras_bct")
class UncertaintyHead(keras.layers.Dense):
    """Aligned embeddings `(batch, d)` to `log sigma^2`, `(batch, variances)`, float32.

    One linear unit on what h gives, without activation; it shares all of h, so it
    costs next to nothing. It begins with sigma^2 = 1.

    Args:
        variances: 1, or d for one variance a component of the embedding.
        **kwargs: As in `keras.layers.Dense`.

    Raises:
        ValueError: `variances` is below 1.

    Example:
        >>> import numpy as np
        >>> UncertaintyHead()(np.ones((2, 3), "float32")).numpy().tolist()
        [[0.0], [0.0]]

    References:
        Jaeckle et al., FastFill, ICLR 2023, section 4 and footnote 2 (one variance a
        component). Kendall and Gal, NeurIPS 2017: the logarithm is what is predicted.
    """

    def __init__(self, variances: int = 1, **kwargs: Any) -> None:
        if int(variances) != variances or variances < 1:
            raise ValueError(
                "`variances` should be 1, or the size of the embedding for one "
                f"variance a component. Received: {variances!r}."
            )
        kwargs.setdefault("dtype", "float32")
        kwargs.setdefault("kernel_initializer", "zeros")
        super().__init__(int(variances), **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Give what the constructor takes."""
        config: dict[str, Any] = super().get_config()
        config["variances"] = config.pop("units")
        return config

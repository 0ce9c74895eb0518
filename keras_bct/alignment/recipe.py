"""How an alignment map is trained, as a configuration."""

from __future__ import annotations

import dataclasses

UNCERTAINTIES = ("none", "one", "components")
COMPONENTS = ("mean", "sum")


@dataclasses.dataclass(frozen=True)
class AlignmentRecipe:
    """One training of an alignment map, complete but for its data.

    The defaults are the paper's recipe (METHODS.md 4) with the authors' reduction.

    Attributes:
        components: L_l2 as the `mean` of the squared errors of the components (the
            authors' code) or their `sum` (the paper's formula).
        discriminative_weight: Of L_disc; 0 leaves it out, and with `uncertainty`
            `none` it is FCT.
        uncertainty: `one` variance, one for each of the `components`, or `none`.
        log_variance_weight: lambda; None: as `keras_bct.losses.FastFill`.
        hidden_size: Units of each of h's two hidden layers.
        epochs: How often every pair is seen.
        warm_up_epochs: Epochs over which the learning rate rises from 0; then it falls
            along a cosine.
        batch_size: Pairs in a batch; the pairs that fill none wait for the next epoch.
        learning_rate: Adam's highest.
        weight_decay: Coupled, as PyTorch's Adam has it: half of it is the L2
            regulariser of the kernels.
        batch_statistics_share: Of the epochs, the first, in which BatchNorm normalises
            by the batch; afterwards by its moving averages.
        seed: Of weights and batches.

    Raises:
        ValueError: A value is out of its range.

    Example:
        >>> fct = AlignmentRecipe(discriminative_weight=0, uncertainty="none")
        >>> fct.epochs
        80
    """

    components: str = "mean"
    discriminative_weight: float = 1.0
    uncertainty: str = "one"
    log_variance_weight: float | None = None
    hidden_size: int = 2048
    epochs: int = 80
    warm_up_epochs: int = 5
    batch_size: int = 1024
    learning_rate: float = 5e-4
    weight_decay: float = 2.0**-15
    batch_statistics_share: float = 0.5
    seed: int = 0

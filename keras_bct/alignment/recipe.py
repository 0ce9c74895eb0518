"""How an alignment map is trained, as a configuration."""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

import numpy as np

from keras_bct.checked_choice import check_choice
from keras_bct.checked_numbers import finite_number, whole_number

CHOICES = {
    "components": ("mean", "sum"),
    "uncertainty": ("none", "one", "components"),
    "base": ("none", "ridge"),
}
_WHOLE_NUMBERS = {
    "hidden_size": 1,
    "epochs": 1,
    "batch_size": 1,
    "warm_up_epochs": 0,
    "seed": 0,
}
_LARGEST_BATCH, _SMALLEST_BATCH = 1024, 32
_STEPS = 8000
_ABOVE_ZERO = ("learning_rate", "prototype_scale", "log_variance_weight")
_SHARES = ("held_out_classes", "dropout", "label_smoothing")
_FROM_ZERO_ON = (
    "discriminative_weight",
    "weight_decay",
    "batch_statistics_share",
    *_SHARES,
)


@dataclasses.dataclass(frozen=True)
class AlignmentRecipe:
    """One training of an alignment map, complete but for its data.

    The defaults are the paper's recipe (docs/methods.md, section 4) with the authors'
    reduction; `residual_recipe` gives this project's own.

    Attributes:
        components: L_l2 as the `mean` of the squared errors of the components (the
            authors' code) or their `sum` (the paper's formula).
        discriminative_weight: Of L_disc; 0 leaves it out, and with `uncertainty`
            `none` it is FCT.
        label_smoothing: Of L_disc where the new classifier is a Softmax.
        prototype_scale: Where no classifier is at hand, the factor s of the
            NormSoftmax on the mean new embeddings of the classes.
        uncertainty: `one` variance, one for each of the `components`, or `none`.
        log_variance_weight: lambda; None: as `keras_bct.losses.FastFill`.
        base: `none`: the paper's h; `ridge`: a `ResidualAlignment` on the ridge map of
            the same pairs.
        unit_length: Whether old embeddings, side information and new embeddings are
            brought to unit length, for models that are compared by cosine.
        held_out_classes: The share of classes that is not trained on: the weights of
            the epoch with the least loss on them are kept. 0 keeps the last.
        dropout: Of the hidden units of a `ResidualAlignment`, in training.
        hidden_size: Units of h's hidden layers.
        epochs: How often every pair is seen; an epoch is the nearest whole number of
            batches.
        warm_up_epochs: Epochs over which the learning rate rises from 0; then it falls
            along a cosine.
        batch_size: Pairs in a batch, which may end one epoch and begin the next. None
            chooses by the number of pairs, see `chosen_batch_size`.
        learning_rate: Adam's highest.
        weight_decay: Coupled, as PyTorch's Adam has it: half of it is the L2
            regulariser of the kernels.
        batch_statistics_share: Of the epochs, the first, in which h's BatchNorm
            normalises by the batch; afterwards by its moving averages. A
            `ResidualAlignment` has no BatchNorm.
        seed: Of weights, batches and held-out classes.

    Raises:
        ValueError: A value is out of its range.

    Example:
        >>> fct = AlignmentRecipe(discriminative_weight=0, uncertainty="none")
        >>> fct.epochs
        80
    """

    components: str = "mean"
    discriminative_weight: float = 1.0
    label_smoothing: float = 0.1
    prototype_scale: float = 24.0
    uncertainty: str = "one"
    log_variance_weight: float | None = None
    base: str = "none"
    unit_length: bool = False
    held_out_classes: float = 0.0
    dropout: float = 0.0
    hidden_size: int = 2048
    epochs: int = 80
    warm_up_epochs: int = 5
    batch_size: int | None = None
    learning_rate: float = 5e-4
    weight_decay: float = 2.0**-15
    batch_statistics_share: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if not isinstance(self.unit_length, bool | np.bool_):
            self._refuse("unit_length", "be true or false")
        object.__setattr__(self, "unit_length", bool(self.unit_length))
        for name, least in _WHOLE_NUMBERS.items():
            if name == "batch_size" and self.batch_size is None:
                continue
            whole = whole_number(name, getattr(self, name), least)
            object.__setattr__(self, name, whole)
        for name in (*_ABOVE_ZERO, *_FROM_ZERO_ON):
            value = getattr(self, name)
            if name != "log_variance_weight" or value is not None:
                finite = finite_number(name, value, or_zero=name in _FROM_ZERO_ON)
                object.__setattr__(self, name, finite)
        for name in _SHARES:
            if getattr(self, name) >= 1:
                self._refuse(name, "be below 1")
        if self.batch_statistics_share > 1:
            self._refuse("batch_statistics_share", "be at most 1")
        if self.dropout and self.base == "none":
            raise ValueError(
                "`dropout` is of the hidden units of a map on a base. Received: "
                f"dropout={self.dropout} with base='none', the paper's h, which has "
                "none; take base='ridge' or dropout=0"
            )
        if self.warm_up_epochs >= self.epochs:
            raise ValueError(
                "`warm_up_epochs` should be fewer than `epochs`. Received: "
                f"{self.warm_up_epochs} of {self.epochs}"
            )

    def chosen_batch_size(self, pairs: int) -> int:
        """Give `batch_size`, or where it is None one that makes enough steps of it.

        A map needs thousands of steps. The paper's 1,024 pairs give them for its 1.2
        million pairs; for fewer the batch is halved until all epochs together have
        8,000 steps, but not below 32, since BatchNorm needs a batch.

        Args:
            pairs: That are trained on.

        Example:
            >>> recipe = AlignmentRecipe()
            >>> [recipe.chosen_batch_size(n) for n in (1_200_000, 20_000, 100)]
            [1024, 128, 32]
        """
        if self.batch_size is not None:
            return self.batch_size
        size = _LARGEST_BATCH
        while size > _SMALLEST_BATCH and self.epochs * pairs < _STEPS * size:
            size //= 2
        return size

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        raise ValueError(f"`{name}` should {wanted}. Received: {getattr(self, name)!r}")


def residual_recipe(**changes: Any) -> AlignmentRecipe:
    """Give this project's own recipe: a wide network with dropout on the ridge map.

    Not published elsewhere. Of unit vectors, with L_l2 by the sum of the components and
    a small L_disc, so that it starts from the best closed form and learns little of the
    training classes alone. Its numbers come from trials on the kanji's validation
    characters.

    Args:
        **changes: Other fields.

    Example:
        >>> residual_recipe(epochs=5).base
        'ridge'
    """
    fields: dict[str, Any] = {
        "components": "sum",
        "discriminative_weight": 0.06,
        "log_variance_weight": 0.5,
        "base": "ridge",
        "unit_length": True,
        "dropout": 0.5,
        "hidden_size": 2048,
        "epochs": 30,
        "warm_up_epochs": 1,
        "batch_size": 512,
        "learning_rate": 1e-3,
    }
    return AlignmentRecipe(**(fields | changes))

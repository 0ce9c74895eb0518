"""The trainings that the tables are made of, by name and seed.

Widths, steps, scale, margin and lambda were chosen on the validation characters. All
new versions of one seed begin with the same weights and see the same batches, so that
they differ in what the table is about; the old version has a seed of its own.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from keras_bct.experiments.harness.training import Training
from keras_bct.training.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class Size:
    """How large trainings are; a smaller one tries the way out in little time.

    Attributes:
        old_width: Channels of the old network's first convolution.
        old_steps: Batches of an old version.
        middle_width: Channels of the first convolution of the chain's second version.
        new_width: Channels of the new network's first convolution.
        new_steps: Batches of a new version.
        deep_width: Channels of the deeper network's first convolution.
    """

    old_width: int = 12
    old_steps: int = 1200
    middle_width: int = 16
    new_width: int = 20
    new_steps: int = 1500
    deep_width: int = 16


PUBLISHED = Size()
"""The size of the committed results."""

LAMBDA = 4.0
"""Of beta, beta-sys and LwF; the table `lambda` shows what chose it."""

_WEIGHTS = {
    "beta": {"influence_weight": LAMBDA},
    "beta-sys": {"influence_weight": LAMBDA},
    "beta-kd": {"influence_weight": 1.0, "distillation_weight": 0.25},
    "lwf": {"influence_weight": LAMBDA, "distillation_weight": LAMBDA},
}
"""Where a method has a second term; l2 is on another scale and has 1."""


@dataclasses.dataclass(frozen=True)
class Catalogue:
    """The trainings of one seed.

    Attributes:
        seed: The seed of the table; the versions' own follow from it.
        size: How large they are.

    Example:
        >>> catalogue = Catalogue(seed=0)
        >>> catalogue.new("beta").predecessor == catalogue.old()
        True
    """

    seed: int
    size: Size = PUBLISHED

    def first(self) -> Training:
        """The first version of the chain: a quarter of the classes."""
        return self._small("independent", "first", "train-quarter", 1)

    def old(self, loss: str = "cosface") -> Training:
        """The old version: half of the classes."""
        name = "old" if loss == "cosface" else f"old-{loss}"
        return self._small("independent", name, "train-old", 2, loss=loss)

    def second(self) -> Training:
        """The second version of the chain, wider than `first` and trained to follow it.

        By beta-sys: beta alone, or the width of `first`, did not hold on the validation
        characters.
        """
        return self._small(
            "beta-sys",
            "second",
            "train-old",
            2,
            self.first(),
            width=self.size.middle_width,
            steps=self.size.new_steps,
        )

    def third(self) -> Training:
        """The third version of the chain, by beta-sys; it never saw `first`."""
        return self._large("beta-sys", "third", self.second())

    def paragon(self) -> Training:
        """The new version without any compatibility term."""
        return self._large("independent", "independent", None)

    def new(self, method: str, name: str | None = None, **changes: Any) -> Training:
        """A new version that follows `old`, all classes.

        Args:
            method: As in `Recipe`.
            name: For people; the method by default.
            **changes: Other fields of the recipe.
        """
        return self._large(method, name or method, self.old(), **changes)

    def deep(self, name: str, **changes: Any) -> Training:
        """A deeper new version by beta that follows `old`."""
        changes = {"backbone": "deep-glyph", "width": self.size.deep_width, **changes}
        return self._large("beta", name, self.old(), **changes)

    def after(self, loss: str, name: str, **changes: Any) -> Training:
        """A new version by beta that follows an old one of another loss."""
        return self._large("beta", name, self.old(loss), **changes)

    def _small(
        self,
        method: str,
        name: str,
        part: str,
        generation: int,
        predecessor: Training | None = None,
        **changes: Any,
    ) -> Training:
        fields = {
            "width": self.size.old_width,
            "steps": self.size.old_steps,
            "seed": 10 * self.seed + generation,
            **_WEIGHTS.get(method, {}),
            **changes,
        }
        return Training(name, Recipe(method=method, **fields), part, predecessor)

    def _large(
        self, method: str, name: str, predecessor: Training | None, **changes: Any
    ) -> Training:
        fields = {
            "width": self.size.new_width,
            "steps": self.size.new_steps,
            "seed": 10 * self.seed + 3,
            **_WEIGHTS.get(method, {}),
            **changes,
        }
        return Training(name, Recipe(method=method, **fields), "train", predecessor)

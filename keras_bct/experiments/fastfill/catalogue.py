"""The image models of FastFill's experiments, by name and seed."""

from __future__ import annotations

import dataclasses

from keras_bct.experiments.bct.catalogue import LAMBDA
from keras_bct.experiments.harness.training import Training
from keras_bct.training.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class FastFillSize:
    """How large image models are; a smaller one tries the way out in little time.

    Attributes:
        old_width: Channels of the weak old network's first convolution.
        old_steps: Batches of an old version.
        new_width: Channels of the new network's first convolution.
        new_steps: Batches of a new version.
    """

    old_width: int = 8
    old_steps: int = 1200
    new_width: int = 20
    new_steps: int = 1500


PUBLISHED = FastFillSize()
"""The size of the committed results."""


@dataclasses.dataclass(frozen=True)
class FastFillCatalogue:
    """The image models of one seed.

    Attributes:
        seed: The seed of the experiment; the versions' own follow from it.
        size: How large they are.

    Example:
        >>> catalogue = FastFillCatalogue(seed=0)
        >>> catalogue.bct().predecessor == catalogue.old()
        True
    """

    seed: int
    size: FastFillSize = PUBLISHED

    def old(self) -> Training:
        """The weak old model: a quarter of the classes, a narrow network."""
        return self._old("weak-old", "old", 1)

    def biased_old(self) -> Training:
        """An old model of 300 light characters and 30 dense ones."""
        return self._old("biased-old", "biased-old", 2)

    def new(self) -> Training:
        """The strong new model: all classes, trained without a look at the old one."""
        return self._new("independent", "new", "new")

    def disjoint_new(self) -> Training:
        """A new model of the 450 classes that the old one never saw."""
        return self._new("independent", "disjoint-new", "disjoint-new")

    def bct(self) -> Training:
        """A new model trained to be compatible with `old` by BCT's beta."""
        return self._new("beta", "bct", "new", influence_weight=LAMBDA)

    def ract(self) -> Training:
        """A new model trained to be compatible with `old` by RACT."""
        return self._new("ract", "ract", "new", temperature=0.05)

    def _old(self, name: str, part: str, generation: int) -> Training:
        recipe = Recipe(
            "independent",
            self.size.old_width,
            self.size.old_steps,
            seed=10 * self.seed + generation,
        )
        return Training(name, recipe, part)

    def _new(self, method: str, name: str, part: str, **changes: float) -> Training:
        recipe = Recipe(
            method,
            self.size.new_width,
            self.size.new_steps,
            seed=10 * self.seed + 3,
            **changes,  # type: ignore[arg-type]
        )
        predecessor = None if method == "independent" else self.old()
        return Training(name, recipe, part, predecessor)

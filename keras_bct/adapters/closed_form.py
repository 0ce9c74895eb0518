"""Closed-form methods: statistics of pairs, gathered in one pass, give the map."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from numpy.typing import NDArray

from keras_bct.adapters.adapter import NewToOld, OldToNew, check_fingerprints
from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.method import A, Method, Settings
from keras_bct.adapters.pair_statistics import (
    Pair,
    PairStatistics,
    gather,
    two_sides,
)


class ClosedForm(Method):
    """A method whose map follows from means and scatter.

    The fits with `_blocks` see each pair once, in blocks of any size, and keep no more
    than `pair_statistics.gather` states.

    A method overrides `solve` and `fewest_pairs`.

    Attributes:
        needs_own_scatter: Whether `solve` reads the source's own scatter.
        needs_target_power: Whether it reads the target's power, or has it summed to
            refuse a target that is too large.
        sample_pairs: How many pairs `solve` needs to see as they are, at most.
    """

    needs_own_scatter: ClassVar[bool] = True
    needs_target_power: ClassVar[bool] = True
    sample_pairs: ClassVar[int] = 0

    @abc.abstractmethod
    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the map from source to target.

        Args:
            statistics: Of the pairs.

        Returns:
            The map, and what the method was told or chose.
        """

    def solve_backward(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the map from new to old, where it is another kind than `solve`'s."""
        return self.solve(statistics)

    def learn(
        self, source: NDArray[Any], target: NDArray[Any], names: tuple[str, str]
    ) -> tuple[AffineMap, Settings]:
        """Gather the statistics of all pairs and solve."""
        return self.solve(self._gather([(source, target)], names))

    def fit_blocks(
        self,
        blocks: Iterable[Pair],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
    ) -> OldToNew:
        """Fit a map from old embeddings to new ones, seeing each pair once.

        Args:
            blocks: Gives `(old, new)`: `(b, d_old)` and `(b, d_new)` rows, any b.
            old_fingerprint: Of the old version.
            new_fingerprint: Of the new version.

        Raises:
            ValueError: As `fit`, as soon as a block shows it.
            TypeError: No floating type.
        """
        return self._fit_blocks(
            OldToNew, blocks, old_fingerprint, new_fingerprint, self.solve
        )

    def fit_backward_blocks(
        self,
        blocks: Iterable[Pair],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
    ) -> NewToOld:
        """Fit a map from new embeddings to old ones; the rest as `fit_blocks`."""
        turned = ((new, old) for old, new in two_sides(blocks))
        return self._fit_blocks(
            NewToOld, turned, old_fingerprint, new_fingerprint, self.solve_backward
        )

    def _fit_blocks(
        self,
        direction: type[A],
        blocks: Iterable[Pair],
        old_fingerprint: str,
        new_fingerprint: str,
        solve: Callable[[PairStatistics], tuple[AffineMap, Settings]],
    ) -> A:
        check_fingerprints(old_fingerprint, new_fingerprint)
        statistics = self._gather(blocks, (direction.source, direction.target))
        self._check_pairs(statistics.pairs, *statistics.cross_scatter.shape)
        found, settings = solve(statistics)
        return direction(
            map=found,
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
            method=self.name,
            pairs=statistics.pairs,
            settings=settings,
        )

    def _gather(self, blocks: Iterable[Pair], names: tuple[str, str]) -> PairStatistics:
        return gather(
            blocks,
            names=names,
            own_scatter=self.needs_own_scatter,
            target_power=self.needs_target_power,
            sample_pairs=self.sample_pairs,
        )

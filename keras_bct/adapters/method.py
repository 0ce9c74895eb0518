"""The interface of the methods: statistics of pairs in, an adapter out."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.adapter import NewToOld, OldToNew, check_fingerprints
from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.embedding_rows import embedding_rows, finite_blocks
from keras_bct.adapters.pair_statistics import (
    Pair,
    PairStatistics,
    check_lengths,
    gather,
)

Settings = dict[str, float]


class Method(abc.ABC):
    """A closed-form method for a map between two embedding spaces.

    Every fit takes the old side first and the new side second, whatever direction it
    fits: `fit` gives an `OldToNew`, `fit_backward` a `NewToOld`. The forms with
    `_blocks` see each pair once, in blocks of any size, and keep no more than
    `pair_statistics.gather` states.

    A method overrides `solve` and `fewest_pairs`.

    Attributes:
        sample_pairs: How many pairs `solve` needs to see as they are, at most.
    """

    sample_pairs: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The method's name, as an adapter records it."""
        return type(self).__name__

    @abc.abstractmethod
    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the map from source to target.

        Args:
            statistics: Of the pairs.

        Returns:
            The map, and what the method was told or chose.
        """

    @abc.abstractmethod
    def fewest_pairs(self, source_size: int, target_size: int) -> int:
        """How many pairs it takes for the map to be determined.

        Args:
            source_size: Components that go in.
            target_size: Components that come out.
        """

    def fit(
        self,
        old: NDArray[Any],
        new: NDArray[Any],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
    ) -> OldToNew:
        """Fit a map from old embeddings to new ones.

        Args:
            old: `(n, d_old)` raw embeddings of the old version, any floating type.
            new: `(n, d_new)` raw embeddings of the new version of the same items.
            old_fingerprint: Of the old version.
            new_fingerprint: Of the new version.

        Raises:
            ValueError: Shapes that do not fit, NaN or infinity, too few pairs, a side
                that does not vary, or fingerprints of one version.
            TypeError: No floating type.
        """
        self._check_whole(old, new, ("old", "new"))
        return self.fit_blocks(
            [(old, new)],
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
        )

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
        check_fingerprints(old_fingerprint, new_fingerprint)
        statistics = gather(
            blocks, names=("old", "new"), sample_pairs=self.sample_pairs
        )
        affine_map, settings = self._solved(statistics)
        return OldToNew(
            affine_map=affine_map,
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
            method=self.name,
            pairs=statistics.pairs,
            settings=settings,
        )

    def fit_backward(
        self,
        old: NDArray[Any],
        new: NDArray[Any],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
    ) -> NewToOld:
        """Fit a map from new embeddings to old ones.

        Args:
            old: `(n, d_old)` raw embeddings of the old version, any floating type.
            new: `(n, d_new)` raw embeddings of the new version of the same items.
            old_fingerprint: Of the old version.
            new_fingerprint: Of the new version.

        Raises:
            ValueError: As `fit`.
            TypeError: No floating type.
        """
        self._check_whole(new, old, ("new", "old"))
        return self.fit_backward_blocks(
            [(old, new)],
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
        )

    def fit_backward_blocks(
        self,
        blocks: Iterable[Pair],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
    ) -> NewToOld:
        """Fit a map from new embeddings to old ones, seeing each pair once.

        Args:
            blocks: Gives `(old, new)`: `(b, d_old)` and `(b, d_new)` rows, any b.
            old_fingerprint: Of the old version.
            new_fingerprint: Of the new version.

        Raises:
            ValueError: As `fit`, as soon as a block shows it.
            TypeError: No floating type.
        """
        check_fingerprints(old_fingerprint, new_fingerprint)
        statistics = gather(
            ((new, old) for old, new in blocks),
            names=("new", "old"),
            sample_pairs=self.sample_pairs,
        )
        affine_map, settings = self._solved(statistics)
        return NewToOld(
            affine_map=affine_map,
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
            method=self.name,
            pairs=statistics.pairs,
            settings=settings,
        )

    def _check_whole(
        self, source: NDArray[Any], target: NDArray[Any], names: tuple[str, str]
    ) -> None:
        """Refuse what can be seen before any work."""
        sides = [
            embedding_rows(name, rows)
            for name, rows in zip(names, (source, target), strict=True)
        ]
        check_lengths(names, sides[0], sides[1])
        self._check_pairs(len(sides[0]), sides[0].shape[1], sides[1].shape[1])
        for name, rows in zip(names, sides, strict=True):
            varies = False
            for block in finite_blocks(name, rows):
                varies = varies or bool(np.any(rows[block] != rows[0]))
            if not varies:
                raise ValueError(
                    f"`{name}` should vary. Received: {len(rows)} rows that are all "
                    "the same; did the model collapse, or is one row repeated?"
                )

    def _solved(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        self._check_pairs(statistics.pairs, *statistics.cross_scatter.shape)
        return self.solve(statistics)

    def _check_pairs(self, pairs: int, source_size: int, target_size: int) -> None:
        fewest = self.fewest_pairs(source_size, target_size)
        if pairs < fewest:
            raise ValueError(
                f"{self.name} from {source_size} to {target_size} components should "
                f"have at least {fewest} pairs. Received: {pairs}; embed more items "
                "with both versions, or take Ridge."
            )

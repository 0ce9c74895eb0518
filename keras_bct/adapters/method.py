"""The interface of the methods: pairs in, an adapter out."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

from keras_bct.adapters.adapter import (
    Adapter,
    NewToOld,
    OldToNew,
    check_fingerprints,
)
from keras_bct.adapters.description import Setting
from keras_bct.adapters.embedding_map import EmbeddingMap
from keras_bct.adapters.embedding_rows import embedding_rows
from keras_bct.adapters.pair_statistics import check_lengths
from keras_bct.checked_numbers import finite_number, whole_number

A = TypeVar("A", bound=Adapter)

Settings = dict[str, Setting]
Learn = Callable[
    [NDArray[Any], NDArray[Any], tuple[str, str]], tuple[EmbeddingMap, Settings]
]


class Method(abc.ABC):
    """A method for a map between two embedding spaces.

    Every fit takes the old side first and the new side second, whatever direction it
    fits: `fit` gives an `OldToNew`, `fit_backward` a `NewToOld`.

    A method overrides `learn` and `fewest_pairs`; closed-form ones are `ClosedForm`s.
    """

    @property
    def name(self) -> str:
        """The method's name, as an adapter records it."""
        return type(self).__name__

    @abc.abstractmethod
    def learn(
        self, source: NDArray[Any], target: NDArray[Any], names: tuple[str, str]
    ) -> tuple[EmbeddingMap, Settings]:
        """Find the map from source to target.

        Args:
            source: `(n, input_size)`, at least `fewest_pairs`.
            target: `(n, output_size)`.
            names: What the caller calls both, for messages.

        Returns:
            The map, and what the method was told or chose.
        """

    @abc.abstractmethod
    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """How many pairs it takes for the map to be determined.

        Args:
            input_size: Components that go in.
            output_size: Components that come out.
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
        return self._fit(OldToNew, old, new, old_fingerprint, new_fingerprint)

    def fit_backward(
        self,
        old: NDArray[Any],
        new: NDArray[Any],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
    ) -> NewToOld:
        """Fit a map from new embeddings to old ones; arguments and errors as `fit`."""
        return self._fit(NewToOld, old, new, old_fingerprint, new_fingerprint)

    def _fit(
        self,
        direction: type[A],
        old: NDArray[Any],
        new: NDArray[Any],
        old_fingerprint: str,
        new_fingerprint: str,
        learn: Learn | None = None,
    ) -> A:
        check_fingerprints(old_fingerprint, new_fingerprint)
        names = (direction.source, direction.target)
        sides = {"old": embedding_rows("old", old), "new": embedding_rows("new", new)}
        source, target = (sides[name] for name in names)
        check_lengths(names, source, target)
        self._check_pairs(len(source), source.shape[1], target.shape[1])
        found, settings = (learn or self.learn)(source, target, names)
        return direction(
            map=found,
            old_fingerprint=old_fingerprint,
            new_fingerprint=new_fingerprint,
            method=self.name,
            pairs=len(source),
            settings=settings,
        )

    def _check_pairs(self, pairs: int, input_size: int, output_size: int) -> None:
        fewest = self.fewest_pairs(input_size, output_size)
        if pairs < fewest:
            raise ValueError(
                f"{self.name} from {input_size} to {output_size} components should "
                f"have at least {fewest} pairs. Received: {pairs}; embed more items "
                "with both versions."
            )

    def _check_whole(self, *names: str, least: int = 1) -> None:
        """Refuse attributes that are no whole numbers; make the others `int`."""
        for name in names:
            checked = whole_number(name, getattr(self, name), least)
            object.__setattr__(self, name, checked)

    def _check_positive(self, *names: str, or_zero: bool = False) -> None:
        """Refuse attributes that are no numbers above zero; make the others `float`."""
        for name in names:
            checked = finite_number(name, getattr(self, name), or_zero=or_zero)
            object.__setattr__(self, name, checked)

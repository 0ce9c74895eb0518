"""The maps of FastFill's experiments as configurations that fit themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from keras_bct import adapters
from keras_bct.alignment.recipe import AlignmentRecipe
from keras_bct.backfill import alignment_error, distance_to_new
from keras_bct.classifier import Classifier

Floats = npt.NDArray[np.floating[Any]]
Mapped = tuple[Floats, Floats | None]
"""Aligned embeddings (n, d_new), and `log sigma^2` (n,) or (n, d_new) or None."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """What a map is trained on.

    Attributes:
        old: (n, d_old) raw old embeddings.
        new: (n, d_new) raw new ones of the same items.
        labels: (n,) class names.
        classifier: The new model's own.
        side: (n, d_s) side information, or None.
    """

    old: Floats
    new: Floats
    labels: npt.NDArray[np.str_]
    classifier: Classifier
    side: Floats | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class MappedItems:
    """What a map's loss is taken of.

    Attributes:
        mapped: (n, d) old embeddings as the map gives them.
        new: (n, d) raw new embeddings of the same items.
        labels: (n,) class names.
        classifier: The new model's own.
    """

    mapped: Floats
    new: Floats
    labels: npt.NDArray[np.str_]
    classifier: Classifier


class MapMethod(Protocol):
    """A frozen dataclass that says all of a map but its data."""

    def fit(self, pairs: Pairs) -> Callable[[Floats, Floats | None], Mapped]:
        """Fits the map: a function of old embeddings and side information."""

    def loss(self, items: MappedItems) -> Floats:
        """Gives the loss of each item that the map was trained by, but for sigma.

        Where it is a squared error alone, its root is as good for an order. L_disc is
        through the new model's own classifier, whatever stood in for it in training,
        and lambda-orthogonality's contrastive term, which is of a batch, is left out.
        """


@dataclasses.dataclass(frozen=True)
class Unmapped:
    """No map: the new model is compatible by its own training."""

    def fit(self, pairs: Pairs) -> Callable[[Floats, Floats | None], Mapped]:
        """Gives the old embeddings as they are."""
        return lambda old, side: (old, None)

    def loss(self, items: MappedItems) -> Floats:
        """Gives the distance between both models' embeddings, which are compared."""
        return distance_to_new(items.mapped, items.new, distance="cosine")


@dataclasses.dataclass(frozen=True)
class Adapted:
    """A method of `keras_bct.adapters`, on embeddings of unit length.

    Attributes:
        method: The method.
        labelled: Whether it is given class names.
    """

    method: adapters.Method
    labelled: bool = False

    def fit(self, pairs: Pairs) -> Callable[[Floats, Floats | None], Mapped]:
        """Fits the method."""
        labels = {"labels": pairs.labels} if self.labelled else {}
        adapter = self.method.fit(
            unit(pairs.old),
            unit(pairs.new),
            old_fingerprint="old",
            new_fingerprint="new",
            **labels,
        )
        return lambda old, side: (adapter.transform(unit(old)), None)

    def loss(self, items: MappedItems) -> Floats:
        """Gives the error between the mapped embedding and the new one."""
        return distance_to_new(items.mapped, unit(items.new))


@dataclasses.dataclass(frozen=True)
class Backward:
    """A method from new to old: queries and what is embedded anew go through it.

    Attributes:
        method: The method, which is given class names.
    """

    method: adapters.LambdaOrthogonal

    def fit(self, pairs: Pairs) -> Callable[[Floats, Floats | None], Mapped]:
        """Fits the method: a function of new embeddings."""
        adapter = self.method.fit_backward(
            unit(pairs.old),
            unit(pairs.new),
            old_fingerprint="old",
            new_fingerprint="new",
            labels=pairs.labels,
        )
        return lambda new, side: (adapter.transform(unit(new)), None)

    def loss(self, items: MappedItems) -> Floats:
        """Gives the error between the mapped new embedding and the old one."""
        return distance_to_new(unit(items.mapped), items.new)


@dataclasses.dataclass(frozen=True)
class Aligned:
    """An alignment model.

    Attributes:
        recipe: How it is trained.
        prototypes: Whether the new model's classifier is lost, and the mean new
            embeddings of the classes take its place.
        side_information: Whether it is given the side information.
    """

    recipe: AlignmentRecipe
    prototypes: bool = False
    side_information: bool = False

    def fit(self, pairs: Pairs) -> Callable[[Floats, Floats | None], Mapped]:
        """Trains the model on stored embeddings."""
        # Here, so that finding what is there already does not wait for Keras.
        from keras_bct.alignment import fit_alignment

        side = pairs.side if self.side_information else None
        model = fit_alignment(
            self.recipe,
            pairs.old,
            pairs.new,
            labels=pairs.labels.tolist(),
            classifier=None if self.prototypes else pairs.classifier,
            side_information=side,
        )
        return lambda old, side: model.transform(
            old, side if self.side_information else None
        )

    def loss(self, items: MappedItems) -> Floats:
        """Gives L_l2 + L_disc of its weight, or L_l2 of classes that are not known."""
        target = unit(items.new) if self.recipe.unit_length else items.new
        known = np.isin(items.labels, items.classifier.class_names).any()
        if not known or not self.recipe.discriminative_weight:
            return distance_to_new(items.mapped, target)
        return alignment_error(
            items.mapped,
            target,
            items.labels,
            items.classifier,
            components=self.recipe.components,
            discriminative_weight=self.recipe.discriminative_weight,
        )


def description(configuration: Any) -> dict[str, Any]:
    """Gives a configuration as plain values: its type and every field.

    Defaults are no exception: another default is another map.

    Example:
        >>> description(Adapted(adapters.Procrustes()))
        {'type': 'Adapted', 'method': {'type': 'Procrustes'}, 'labelled': False}
    """
    values: dict[str, Any] = {"type": type(configuration).__name__}
    for field in dataclasses.fields(configuration):
        value = getattr(configuration, field.name)
        is_configuration = dataclasses.is_dataclass(value)
        values[field.name] = description(value) if is_configuration else value
    return values


def unit(rows: Floats) -> Floats:
    """Brings rows to unit length, as the cosine does at use."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

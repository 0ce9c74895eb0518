"""What an alignment map is trained on, checked before any work."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    embedding_rows,
    float32_rows,
    refuse_not_finite,
)
from keras_bct.alignment.recipe import AlignmentRecipe
from keras_bct.checked_labels import label_array
from keras_bct.classifier import Classifier
from keras_bct.counted import counted
from keras_bct.data.batch_order import epoch_order


@dataclasses.dataclass(frozen=True, eq=False)
class StoredPairs:
    """Old and new embeddings of the same items, as float32.

    Attributes:
        old: `(n, d_old)`.
        new: `(n, d_new)`, of unit length where the recipe says so.
        labels: n class names, or None.
        classifier: The new model's, its stand-in, or None where nothing asks it.
        side: `(n, d_s)` side information, or None.
    """

    old: NDArray[np.float32]
    new: NDArray[np.float32]
    labels: NDArray[np.str_] | None
    classifier: Classifier | None
    side: NDArray[np.float32] | None

    @classmethod
    def of(
        cls,
        recipe: AlignmentRecipe,
        old: NDArray[Any],
        new: NDArray[Any],
        labels: Sequence[str] | None,
        classifier: Classifier | None,
        side: NDArray[Any] | None,
    ) -> StoredPairs:
        """Check what `fit_alignment` takes, and find or make up the classifier.

        Raises:
            ValueError: As `fit_alignment`.
            TypeError: No floating type.
        """
        arrays = {"old": old, "new": new}
        if side is not None:
            arrays["side_information"] = side
        checked = {}
        for name, rows in arrays.items():
            found = embedding_rows(name, rows)
            if not len(found):
                raise ValueError(
                    f"`{name}` should hold at least one item. Received: 0 rows."
                )
            if len(found) != len(old):
                raise ValueError(
                    f"`{name}` should have a row for each of the items in `old`. "
                    f"Received: {counted(len(found), 'row')} and {len(old)}."
                )
            refuse_not_finite(name, found)
            checked[name] = float32_rows(name, found)
            _refuse_unsquarable(name, checked[name])
        names = None if labels is None else label_array(labels, len(old))
        if names is None and (recipe.discriminative_weight or recipe.held_out_classes):
            raise ValueError(
                "`labels` should name the class of each item: the recipe has "
                "discriminative_weight or held_out_classes. Received: None; for FCT "
                "set both to 0."
            )
        if recipe.unit_length:
            checked["new"] = _unit(checked["new"])
            if classifier is not None and classifier.kind == "softmax":
                classifier = None
        if not recipe.discriminative_weight or names is None:
            classifier = None
        elif classifier is None:
            if len(np.unique(names)) < 2:
                raise ValueError(
                    "`labels` should name at least two classes, whose means stand in "
                    f"for `classifier`. Received: {str(names[0])!r} alone; for FCT set "
                    "discriminative_weight to 0."
                )
            classifier = Classifier.from_embeddings(
                checked["new"],
                names.tolist(),
                kind="normsoftmax",
                scale=recipe.prototype_scale,
                margin=None,
            )
        else:
            _check_classifier(classifier, names, checked["new"].shape[1])
        return cls(
            checked["old"],
            checked["new"],
            names,
            classifier,
            checked.get("side_information"),
        )

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.old)

    def parted(self, share: float, seed: int) -> tuple[StoredPairs, StoredPairs | None]:
        """Part the classes into those that are trained on and those held out.

        Args:
            share: Of the classes, held out.
            seed: Of the choice.

        Returns:
            Both parts; the second is None for a share of 0.

        Raises:
            ValueError: No class would be left on one of the sides.
        """
        if not share or self.labels is None:
            return self, None
        classes = np.unique(self.labels)
        count = round(share * len(classes))
        if not 0 < count < len(classes):
            raise ValueError(
                "`held_out_classes` should leave classes on both sides. Received: "
                f"{share} of {counted(len(classes), 'class', 'classes')}."
            )
        chosen = np.random.default_rng(seed).permutation(classes)[:count]
        held_out = np.isin(self.labels, chosen)
        return self._take(~held_out), self._take(held_out)

    def batches(self, batch_size: int, seed: int) -> tf.data.Dataset:
        """Give endless batches, every pair once an epoch, the same for the same seed.

        A batch may end one epoch and begin the next, so that all are full: an uneven
        one would be shared out unevenly among replicas. Batch i depends on i alone, so
        that it is the same however often Keras looks at the first one.

        Args:
            batch_size: Pairs in a batch.
            seed: Of the order.
        """
        order = epoch_order(len(self), batch_size, seed)
        columns = tf.nest.map_structure(tf.constant, self._columns())
        steps = tf.data.Dataset.range(np.iinfo(np.int64).max // batch_size)

        def batch(step: tf.Tensor) -> Any:
            rows = order(step)
            return tf.nest.map_structure(
                lambda column: tf.gather(column, rows), columns
            )

        return (
            steps.map(batch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
            .apply(
                tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
            )
            .prefetch(tf.data.AUTOTUNE)
        )

    def dataset(self) -> tf.data.Dataset:
        """Give the pairs as `AlignmentModel` is fitted on them, one by one."""
        return tf.data.Dataset.from_tensor_slices(self._columns())

    def _columns(self) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        inputs: dict[str, NDArray[Any]] = {"old_embedding": self.old}
        if self.side is not None:
            inputs["side_information"] = self.side
        targets: dict[str, NDArray[Any]] = {"embedding": self.new}
        if self.classifier is not None and self.labels is not None:
            targets["label"] = self.classifier.labels(self.labels.tolist())
        return inputs, targets

    def rows(self, unit_length: bool) -> NDArray[np.float32]:
        """Old embeddings and side information side by side, as a map reads them."""
        parts = [self.old] if self.side is None else [self.old, self.side]
        return np.concatenate(
            [_unit(part) if unit_length else part for part in parts], axis=1
        )

    def _take(self, rows: NDArray[np.bool_]) -> StoredPairs:
        return dataclasses.replace(
            self,
            old=self.old[rows],
            new=self.new[rows],
            labels=None if self.labels is None else self.labels[rows],
            side=None if self.side is None else self.side[rows],
        )


def _refuse_unsquarable(name: str, rows: NDArray[np.float32]) -> None:
    """Refuse rows whose squared lengths float32 cannot hold: nothing learns of them."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    bad = np.flatnonzero(~np.isfinite(squares))
    if len(bad):
        raise ValueError(
            f"`{name}` should be small enough for float32 to hold squared lengths. "
            f"Received: {np.abs(rows[bad[0]]).max():.1e} in row {bad[0]}; divide all "
            "rows by such a number."
        )


def _check_classifier(
    classifier: Classifier, names: NDArray[np.str_], size: int
) -> None:
    if classifier.embedding_size != size:
        raise ValueError(
            f"`classifier` should be the new model's and take {size} components. "
            f"Received: one of {classifier.embedding_size}."
        )
    if not np.isin(names, classifier.class_names).any():
        raise ValueError(
            "`labels` should name classes that `classifier` knows. Received: none, "
            f"the first {str(names[0])!r}; is it the new model's classifier?"
        )


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float32)

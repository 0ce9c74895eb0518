"""A trained classifier as data: what a version keeps so that successors can use it.

NumPy only, so that a registry or a data pipeline can read class names and weights
without importing TensorFlow.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_bct.array_file import read_array, write_array
from keras_bct.text_column import text_column

__all__ = ["COSINE_KINDS", "KINDS", "Classifier", "synthesize"]

KINDS = ("softmax", "normsoftmax", "sphereface", "cosface", "arcface", "simplex")
"""The forms of docs/methods.md, section 2."""

COSINE_KINDS = ("normsoftmax", "sphereface", "cosface", "arcface")
"""The forms whose logits are made of cosines; the others use inner products."""

Names = Sequence[str] | Sequence[bytes] | NDArray[Any]
"""A column of class names."""

_SCHEMA = 1
_DESCRIPTION = "classifier.json"
_WEIGHTS = "classifier_weights.npy"
_BIAS = "classifier_bias.npy"
_FIELDS = frozenset({"schema", "kind", "scale", "margin", "bias", "class_names"})


@dataclass(frozen=True, eq=False)
class Classifier:
    """The classifier that an embedding model was trained with, one row a class.

    Its rows are joined to data and to other classifiers by class name, never by row
    number.

    Attributes:
        kind: One of `KINDS`; says how logits follow from weights
            (docs/methods.md, section 2).
        weights: `(classes, d)` float32, row c belongs to `class_names[c]`.
        class_names: The names of the classes in row order; unique. Bytes, as
            TensorFlow gives them, become text.
        bias: `(classes,)` float32, or None. Only for kind `"softmax"`.
        scale: The factor s on cosines, or None for the forms without one.
        margin: The margin m of the target class (radians for `"arcface"`, cosine for
            `"cosface"`, a factor on the angle for `"sphereface"`), or None.

    Raises:
        ValueError: A field does not fit the others; the message names it.

    Example:
        >>> classifier = Classifier(
        ...     "cosface", np.eye(2, 3), ("ka", "ki"), scale=30.0, margin=0.4
        ... )
        >>> classifier.embedding_size
        3
        >>> classifier.labels(["ki", "ku"])
        array([ 1, -1], dtype=int32)

    References:
        Shen et al., Towards Backward-Compatible Representation Learning, CVPR 2020,
        section 2.4: the old classifier is kept and frozen.
    """

    kind: str
    weights: NDArray[np.float32]
    class_names: tuple[str, ...]
    bias: NDArray[np.float32] | None = None
    scale: float | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        """Bring arrays to float32 and refuse what does not fit together."""
        weights = _frozen_float32("weights", self.weights, ndim=2)
        names = tuple(
            text_column("class_names", self.class_names, required=True).tolist()
        )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "class_names", names)
        if self.kind not in KINDS:
            raise ValueError(
                f"`kind` should be one of {', '.join(KINDS)}. Received: {self.kind!r}."
            )
        if len(weights) != len(names):
            raise ValueError(
                "`weights` should have one row for each of `class_names`. Received: "
                f"weights of shape {weights.shape} and {len(names)} class names."
            )
        if len(names) < 2:
            raise ValueError(
                "A classifier needs at least two classes. Received: "
                f"class_names={names}."
            )
        if len(set(names)) < len(names):
            twice = sorted(name for name, n in Counter(names).items() if n > 1)
            raise ValueError(
                "`class_names` should be unique, since classes are joined by name. "
                f"Received more than once: {twice[:5]}."
            )
        if self.kind in COSINE_KINDS and not np.all(np.any(weights != 0, axis=1)):
            row = int(np.flatnonzero(~np.any(weights != 0, axis=1))[0])
            raise ValueError(
                f"`weights` of kind {self.kind!r} are directions and cannot be zero. "
                f"Received: the row of class {names[row]!r} is zero."
            )
        if self.bias is not None:
            bias = _frozen_float32("bias", self.bias, ndim=1)
            object.__setattr__(self, "bias", bias)
            if self.kind != "softmax":
                raise ValueError(
                    f"`bias` belongs to kind 'softmax' alone. Received it with "
                    f"kind={self.kind!r}; leave it out."
                )
            if bias.shape != (len(names),):
                raise ValueError(
                    "`bias` should have one value a class. Received: shape "
                    f"{bias.shape} for {len(names)} classes."
                )
        for field in ("scale", "margin"):
            value = getattr(self, field)
            if value is not None:
                if not np.isfinite(value) or value < 0:
                    raise ValueError(
                        f"`{field}` should be a finite number, zero or more, or None. "
                        f"Received: {value!r}."
                    )
                object.__setattr__(self, field, float(value))

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @property
    def embedding_size(self) -> int:
        """The number of components of the embeddings that this classifier takes."""
        return int(self.weights.shape[1])

    def labels(self, names: Names) -> NDArray[np.int32]:
        """Give the row number of each class name, -1 where there is no such class.

        Args:
            names: n class names, text or bytes.

        Returns:
            `(n,)` int32.

        Warns:
            UserWarning: None of several names is a class: nothing would be trained.
        """
        rows = {name: row for row, name in enumerate(self.class_names)}
        wanted = text_column("names", names).tolist()
        found = np.array([rows.get(name, -1) for name in wanted], dtype=np.int32)
        if len(found) > 1 and (found < 0).all():
            warnings.warn(
                f"None of {len(found)} `names` is a class of this classifier, so every "
                f"label is -1. The first is {wanted[0]!r}; the classifier's own first "
                f"is {self.class_names[0]!r}. Is one class written in two ways?",
                stacklevel=2,
            )
        return found

    @classmethod
    def from_embeddings(
        cls,
        embeddings: ArrayLike,
        labels: Names,
        *,
        kind: str = "cosface",
        scale: float | None,
        margin: float | None,
    ) -> Classifier:
        """Make up a classifier for an old model that came without one.

        Each class gets the direction of the mean of its embeddings, as `synthesize`
        gives it to single classes; with all rows so made it is beta-sys from stored
        embeddings alone.

        Args:
            embeddings: `(n, d)` embeddings of the old model, raw.
            labels: n class names, text or bytes.
            kind: One of `COSINE_KINDS`.
            scale: The factor s on cosines.
            margin: The margin m, None for `"normsoftmax"`.

        Returns:
            A classifier with its classes sorted by name.

        Raises:
            ValueError: `kind` is no cosine form, shapes do not fit, an embedding is
                not finite, or the mean of a class is zero.

        Example:
            >>> old = Classifier.from_embeddings(
            ...     [[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ["ka", "ka", "ki"],
            ...     scale=24.0, margin=0.3,
            ... )
            >>> old.weights.tolist()
            [[1.0, 0.0], [0.0, 1.0]]
        """
        if kind not in COSINE_KINDS:
            raise ValueError(
                f"`kind` should be one of {', '.join(COSINE_KINDS)}: a mean embedding "
                f"tells a direction and no length. Received: {kind!r}."
            )
        classes, directions = _mean_directions(*_labelled(embeddings, labels))
        return cls(
            kind=kind,
            weights=directions.astype(np.float32),
            class_names=tuple(classes),
            scale=scale,
            margin=margin,
        )

    def save(self, directory: str | Path) -> None:
        """Write `classifier.json` and `classifier_weights.npy` (and the bias).

        Args:
            directory: Made when it does not exist; files of the same names are
                replaced.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        write_array(directory / _WEIGHTS, self.weights)
        if self.bias is not None:
            write_array(directory / _BIAS, self.bias)
        else:
            (directory / _BIAS).unlink(missing_ok=True)
        description = {
            "schema": _SCHEMA,
            "kind": self.kind,
            "scale": self.scale,
            "margin": self.margin,
            "bias": self.bias is not None,
            "class_names": list(self.class_names),
        }
        (directory / _DESCRIPTION).write_text(
            json.dumps(description, ensure_ascii=False, indent=1) + "\n",
            encoding="utf-8",
        )

    @classmethod
    def load(cls, directory: str | Path) -> Classifier:
        """Read what `save` wrote.

        Args:
            directory: Holds `classifier.json`; in a version, `assets.extra/`.

        Raises:
            FileNotFoundError: There is no classifier in `directory`.
            ValueError: The files are of a newer schema, or do not fit together.
        """
        directory = Path(directory)
        path = directory / _DESCRIPTION
        if not path.is_file():
            raise FileNotFoundError(
                f"`directory` should hold {_DESCRIPTION}. Received: {directory}; in a "
                "version the classifier lies in its assets.extra/."
            )
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if description.get("schema") != _SCHEMA:
            raise ValueError(
                f"{path} should have schema {_SCHEMA}. Received: "
                f"{description.get('schema')!r}; read it with a newer keras_bct."
            )
        if set(description) != _FIELDS:
            raise ValueError(
                f"{path} should have exactly the keys {sorted(_FIELDS)}. Received: "
                f"{sorted(description)}."
            )
        bias = None
        if description["bias"]:
            bias = read_array(directory / _BIAS)
        return cls(
            kind=description["kind"],
            weights=read_array(directory / _WEIGHTS),
            class_names=tuple(description["class_names"]),
            bias=bias,
            scale=description["scale"],
            margin=description["margin"],
        )


def synthesize(
    classifier: Classifier, embeddings: ArrayLike, labels: Names
) -> Classifier:
    """Give the old classifier a row for every class that it never saw (beta-sys).

    The row of such a class is the mean old embedding of its images, put on the same
    footing as the old rows: of unit length for the cosine forms; for the others scaled
    to the mean length of the old rows, with their mean bias. Rows of classes that the
    classifier knows stay as they are, and first.

    Args:
        classifier: The old classifier, d components.
        embeddings: `(n, d)` *old* embeddings of images of the new training set, raw.
        labels: n class names, text or bytes. Those that `classifier` knows are passed
            over.

    Returns:
        A classifier of the same kind, with the new classes after the old ones, sorted
        by name.

    Raises:
        ValueError: Shapes do not fit, an embedding is not finite, or the mean of a
            class is zero and has no direction.

    Example:
        >>> old = Classifier("cosface", np.eye(2), ("ka", "ki"), scale=30.0, margin=0.4)
        >>> wider = synthesize(old, [[3.0, 0.0], [0.0, 3.0]], ["ku", "ku"])
        >>> wider.class_names
        ('ka', 'ki', 'ku')
        >>> wider.weights[2].round(2)
        array([0.71, 0.71], dtype=float32)

    References:
        Shen et al., CVPR 2020, section 2.5, synthesized classifier weights.
    """
    vectors, names = _labelled(embeddings, labels)
    if vectors.shape[1] != classifier.embedding_size:
        raise ValueError(
            f"`embeddings` should have shape (n, {classifier.embedding_size}), made by "
            f"the classifier's own model. Received: shape {vectors.shape}."
        )
    unseen = ~np.isin(names, classifier.class_names)
    if not unseen.any():
        return classifier
    new_names, directions = _mean_directions(vectors[unseen], names[unseen])
    length = 1.0
    if classifier.kind not in COSINE_KINDS:
        length = float(np.linalg.norm(classifier.weights, axis=1).mean())
    bias = classifier.bias
    if bias is not None:
        bias = np.append(bias, np.full(len(new_names), bias.mean(), np.float32))
    return replace(
        classifier,
        weights=np.concatenate([classifier.weights, length * directions]),
        class_names=(*classifier.class_names, *new_names),
        bias=bias,
    )


def _labelled(
    embeddings: ArrayLike, labels: Names
) -> tuple[NDArray[Any], NDArray[np.str_]]:
    """Check that there is one class name for every embedding."""
    vectors = np.asarray(embeddings)
    names = text_column("labels", labels, required=True)
    if vectors.ndim != 2 or len(names) != len(vectors):
        raise ValueError(
            "`embeddings` should have shape (n, d), and `labels` should name the class "
            f"of each. Received: shape {vectors.shape} and {len(names)} labels."
        )
    return vectors, names


def _mean_directions(
    vectors: NDArray[Any], names: NDArray[np.str_]
) -> tuple[list[str], NDArray[np.float64]]:
    """Give the classes, sorted, and the unit vectors of their mean embeddings."""
    classes, of_class = np.unique(names, return_inverse=True)
    sums = np.zeros((len(classes), vectors.shape[1]), dtype=np.float64)
    np.add.at(sums, of_class, vectors.astype(np.float64))
    means = sums / np.bincount(of_class)[:, None]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    for row, length in enumerate(lengths[:, 0].tolist()):
        if not np.isfinite(length):
            raise ValueError(
                "`embeddings` should be finite. Received NaN or infinity in class "
                f"{str(classes[row])!r}."
            )
        if length == 0:
            raise ValueError(
                f"The mean embedding of class {str(classes[row])!r} is zero and gives "
                "no direction for its row; leave the class out."
            )
    return classes.tolist(), means / lengths


def _frozen_float32(name: str, values: ArrayLike, ndim: int) -> NDArray[np.float32]:
    """Copy to read-only float32; refuse another rank and what is not finite."""
    array = np.array(values, dtype=np.float32)
    if array.ndim != ndim:
        raise ValueError(
            f"`{name}` should have {ndim} dimensions. Received: shape {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(
            f"`{name}` should be finite. Received NaN or infinity; was the training "
            "stable?"
        )
    array.setflags(write=False)
    return array

"""A map that is a TensorFlow SavedModel, such as FastFill's alignment model."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.description import SAVED_MODEL, file_digest
from keras_bct.adapters.embedding_map import refuse_inverse
from keras_bct.adapters.embedding_rows import (
    embedding_rows,
    finite_blocks,
    float32_rows,
    refuse_not_finite,
    refuse_overflow,
)

SIGNATURE = "transform"
SIDE_INFORMATION = "side_information"
EMBEDDING, LOG_VARIANCE = "embedding", "log_variance"

# What TensorFlow reads; `assets.extra` is for others.
_PARTS = (SAVED_MODEL, "fingerprint.pb", "variables", "assets")


@dataclasses.dataclass(frozen=True, eq=False)
class SavedModelMap:
    """The `transform` signature of a SavedModel.

    It takes `(batch, input_size)` float32 rows under any name, and
    `side_information`, `(batch, side_size)` float32, where it was trained with some.
    It gives `embedding`, `(batch, output_size)` float32, and, where it predicts its
    own error, `log_variance`: `(batch,)`, `(batch, 1)`, or `(batch, output_size)` with
    one for each component, whose variances are summed.

    Attributes:
        directory: Holds `saved_model.pb`.
        files: SHA-256 of each of the SavedModel's files, by path in `directory`.
    """

    kind: ClassVar[str] = "saved-model"

    directory: Path
    files: dict[str, str]
    input_size: int
    output_size: int
    side_size: int | None
    has_variance: bool
    _model: Any = dataclasses.field(repr=False)
    _rows: str

    @classmethod
    def load(cls, directory: Path) -> SavedModelMap:
        """Load the SavedModel; TensorFlow is imported here.

        Args:
            directory: Holds `saved_model.pb`.

        Raises:
            FileNotFoundError: There is no SavedModel in `directory`.
            ValueError: It has no signature `transform` as it is described above.
        """
        directory = Path(directory)
        if not (directory / SAVED_MODEL).is_file():
            raise FileNotFoundError(
                f"`directory` should hold {SAVED_MODEL}, which is written last. "
                f"Received: {directory}."
            )
        import tensorflow as tf

        files = _digests(directory)
        model = tf.saved_model.load(str(directory))
        if SIGNATURE not in model.signatures:
            raise ValueError(
                f"`directory` should hold a SavedModel with signature {SIGNATURE!r}. "
                f"Received: {directory} with {sorted(model.signatures)}."
            )
        signature = model.signatures[SIGNATURE]
        takes = dict(signature.structured_input_signature[1])
        side = takes.pop(SIDE_INFORMATION, None)
        gives = signature.structured_outputs
        specs = [*takes.values(), gives.get(EMBEDDING)]
        if side is not None:
            specs.append(side)
        if len(takes) != 1 or not all(
            spec is not None
            and spec.dtype == tf.float32
            and spec.shape.rank == 2
            and spec.shape[1] is not None
            for spec in specs
        ):
            raise ValueError(
                f"Signature {SIGNATURE!r} should take embeddings (and "
                f"{SIDE_INFORMATION!r}) and give {EMBEDDING!r}, float32 of shape "
                f"(None, d) with d known. Received: {directory}, which takes "
                f"{signature.structured_input_signature[1]} and gives {gives}."
            )
        (rows,) = takes
        return cls(
            directory,
            files,
            input_size=int(takes[rows].shape[1]),
            output_size=int(gives[EMBEDDING].shape[1]),
            side_size=None if side is None else int(side.shape[1]),
            has_variance=LOG_VARIANCE in gives,
            # The signature alone does not keep its variables alive.
            _model=model,
            _rows=rows,
        )

    def save(self, directory: Path) -> None:
        """Copy the SavedModel from where it was loaded.

        Raises:
            ValueError: It is not there any more, or another one is.
        """
        for name in self.files:
            if (self.directory / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.directory / name, directory / name)
        if _digests(directory) != self.files:
            raise ValueError(
                "A SavedModel is saved by copying its files, which should be those "
                f"that were loaded. Received: {self.directory}, where they are gone or "
                "others; load the adapter again."
            )

    def __call__(
        self, rows: Any, side_information: Any = None, *, name: str = "rows"
    ) -> NDArray[Any]:
        """Map rows, as `EmbeddingMap` says."""
        return self.with_variance(rows, side_information, name=name)[0]

    def with_variance(
        self, rows: Any, side_information: Any = None, *, name: str = "rows"
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Map rows and predict their error, as `EmbeddingMap` says."""
        rows = embedding_rows(name, rows, self.input_size)
        mapped = np.empty((len(rows), self.output_size), np.float32)
        logarithms = np.empty(len(rows), np.float32) if self.has_variance else None
        transform = self._model.signatures[SIGNATURE]
        for block in finite_blocks(name, rows):
            takes = {self._rows: float32_rows(name, rows[block], block.start)}
            if self.side_size is not None:
                side = embedding_rows(
                    SIDE_INFORMATION, side_information[block], self.side_size
                )
                refuse_not_finite(SIDE_INFORMATION, side, block.start)
                takes[SIDE_INFORMATION] = float32_rows(
                    SIDE_INFORMATION, side, block.start
                )
            gives = transform(**takes)
            mapped[block] = gives[EMBEDDING].numpy()
            refuse_overflow(name, mapped[block], block.start)
            if logarithms is not None:
                logarithms[block] = _summed(gives[LOG_VARIANCE].numpy())
                refuse_overflow(name, logarithms[block], block.start)
        return mapped, logarithms

    def inverse(self, rows: Any, *, name: str = "rows") -> NDArray[Any]:
        """Refuse: a network has no way back.

        Raises:
            ValueError: Always.
        """
        refuse_inverse(name)


def _digests(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): file_digest(path)
        for part in _PARTS
        for path in (directory / part, *sorted((directory / part).rglob("*")))
        if path.is_file()
    }


def _summed(log_variance: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of the summed variances, (n,)."""
    if log_variance.ndim == 1:
        return log_variance
    return np.asarray(np.logaddexp.reduce(log_variance, axis=1))

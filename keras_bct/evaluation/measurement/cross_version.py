"""Cross-version matrices: every version's queries against every version's gallery."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.protocol import Protocol
from keras_bct.evaluation.measurement.measuring import measure


@dataclasses.dataclass(frozen=True, eq=False)
class CrossVersionMatrix:
    """M(a, b) for every two versions, as BCT's table 4 shows it.

    Attributes:
        versions: Their names, in the order given.
        values: For each metric (versions, versions) float64: the row embeds the
            queries, the column the gallery.
    """

    versions: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]


def cross_version_matrix(
    protocol: Protocol,
    versions: Mapping[str, tuple[EmbeddingSet, EmbeddingSet]],
    *,
    execution: Execution | None = None,
) -> CrossVersionMatrix:
    """Measures every version's queries against every version's gallery.

    A version against itself takes all its components, two versions the first K where
    the protocol says so.

    Args:
        protocol: What is measured.
        versions: For each version's name its queries and its gallery.
        execution: How the work is done.

    Raises:
        ValueError: No version, or two that cannot be compared; the error names them.
    """
    if not versions:
        raise ValueError("`versions` should hold at least one. Received none.")
    values = {
        metric: np.empty((len(versions), len(versions))) for metric in protocol.metrics
    }
    for i, (asking, (queries, _)) in enumerate(versions.items()):
        for j, (stored, (_, gallery)) in enumerate(versions.items()):
            first = None if i == j else protocol.first_components
            try:
                result = measure(
                    dataclasses.replace(protocol, first_components=first),
                    queries,
                    gallery,
                    execution=execution,
                )
            except ValueError as error:
                raise ValueError(f"{asking!r} against {stored!r}: {error}") from error
            for metric in protocol.metrics:
                values[metric][i, j] = result.values[metric]
    return CrossVersionMatrix(tuple(versions), values)

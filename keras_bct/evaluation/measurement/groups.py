"""Groups: every metric by a label of the queries, and the gap between groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.protocol import Protocol
from keras_bct.evaluation.measurement.measurement import Measurement
from keras_bct.evaluation.measurement.measuring import measure
from keras_bct.text_column import MISSING, text_column


@dataclasses.dataclass(frozen=True, eq=False)
class GroupMeasurements:
    """A protocol's metrics over the queries of each group.

    Attributes:
        groups: For each group's name its measurement.
        queries_without_group: How many were left out, since their group is not known.
    """

    groups: Mapping[str, Measurement]
    queries_without_group: int = 0

    def values(self, metric: str) -> dict[str, float]:
        """A metric's value in each group."""
        return {name: group.values[metric] for name, group in self.groups.items()}

    def gap(self, metric: str) -> float:
        """The difference between the highest and the lowest value."""
        values = self.values(metric).values()
        return max(values) - min(values)


def measure_groups(
    protocol: Protocol,
    queries: EmbeddingSet,
    gallery: EmbeddingSet,
    groups: npt.NDArray[Any],
    *,
    execution: Execution | None = None,
) -> GroupMeasurements:
    """Measures a protocol for the queries of each group, against the whole gallery.

    Thresholds are those of the group's own impostors.

    Args:
        protocol: What is measured.
        queries: m items.
        gallery: n items.
        groups: (m,) a name for each query: a gender, a camera, a source. A query
            without one is in no group.
        execution: How the work is done.

    Raises:
        ValueError: `groups` has another length or names none, or a group cannot be
            measured; the error names it.
    """
    groups = text_column("groups", groups)
    if groups.shape != (len(queries),):
        raise ValueError(
            f"`groups` should name a group for each of the {len(queries)} queries. "
            f"Received: shape {groups.shape}."
        )
    known = groups != MISSING
    if not known.any():
        raise ValueError(
            "`groups` should name a group for some queries. Received: none for any of "
            f"the {len(queries)}."
        )
    result = {}
    for group in np.unique(groups[known]):
        try:
            result[str(group)] = measure(
                protocol, queries.take(groups == group), gallery, execution=execution
            )
        except ValueError as error:
            raise ValueError(f"group {str(group)!r}: {error}") from error
    return GroupMeasurements(result, int((~known).sum()))


def measure_galleries(
    protocol: Protocol,
    queries: EmbeddingSet,
    galleries: Mapping[str, EmbeddingSet],
    *,
    execution: Execution | None = None,
) -> tuple[dict[str, float], dict[str, Measurement]]:
    """Measures the same queries against several galleries, as IJB-C's two.

    Args:
        protocol: What is measured.
        queries: m items.
        galleries: At least one, by name.
        execution: How the work is done.

    Returns:
        For each metric the mean over the galleries, and each gallery's measurement.

    Raises:
        ValueError: No gallery, or one that cannot be measured; the error names it.
    """
    if not galleries:
        raise ValueError("`galleries` should hold at least one. Received none.")
    result = {}
    for name, gallery in galleries.items():
        try:
            result[name] = measure(protocol, queries, gallery, execution=execution)
        except ValueError as error:
            raise ValueError(f"gallery {name!r}: {error}") from error
    means = {
        metric: float(np.mean([part.values[metric] for part in result.values()]))
        for metric in protocol.metrics
    }
    return means, result

"""The backfilling curve: a metric after every step of the backfill (FastFill, sec. 4).

At a cut-off c the first c gallery items of an order carry their new embeddings, the
rest their old (mapped) ones. Each query is ranked once against both versions of the
gallery; then the items move one after the other, and only a move past a relevant item
changes anything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.backfilling.acceptance_curve import acceptance_curves
from keras_bct.evaluation.backfilling.backfill_cutoffs import (
    acceptance_cutoffs,
    as_cutoffs,
    paper_cutoffs,
)
from keras_bct.evaluation.backfilling.gallery_versions import GalleryVersions
from keras_bct.evaluation.backfilling.retrieval_curve import retrieval_curves
from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.protocol import EXCLUSIONS
from keras_bct.evaluation.inputs.relevance import Relevance
from keras_bct.evaluation.inputs.taking_part import only, takes_part, without_label
from keras_bct.evaluation.inputs.templates import refuse_templates
from keras_bct.text_column import MISSING, text_column

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class BackfillingCurve:
    """A metric along the backfill.

    Attributes:
        items: How many gallery items there are.
        cutoffs: For each metric (points,) int64, ascending: so many items are new.
        values: For each metric (points,) float64.
        groups: For each group's name the same values over its queries alone.
        counts: How many queries and gallery items have no label and were left out.
    """

    items: int
    cutoffs: Mapping[str, Integers]
    values: Mapping[str, Floats]
    groups: Mapping[str, Mapping[str, Floats]]
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def area(self, metric: str, group: str | None = None) -> float:
        """The plain mean over the 22 cut-offs of the papers.

        Args:
            metric: Its name.
            group: A group's name; None: all queries.

        Raises:
            ValueError: The curve was not measured at one of these cut-offs.
        """
        places = np.searchsorted(self.cutoffs[metric], paper_cutoffs(self.items))
        places = np.minimum(places, len(self.cutoffs[metric]) - 1)
        if (self.cutoffs[metric][places] != paper_cutoffs(self.items)).any():
            raise ValueError(
                f"`metric`: {metric!r} was not measured at the 22 cut-offs of the "
                "papers. Leave `cutoffs` out, or take `paper_cutoffs`."
            )
        return float(self._values(metric, group)[places].mean())

    def exact_area(self, metric: str, group: str | None = None) -> float:
        """The area under the curve, by the trapezoid between its points.

        Over all n + 1 cut-offs this is the exact area.

        Args:
            metric: Its name.
            group: A group's name; None: all queries.
        """
        share = self.cutoffs[metric] / self.items
        values = self._values(metric, group)
        middles = (values[1:] + values[:-1]) / 2
        return float((middles * np.diff(share)).sum() / (share[-1] - share[0]))

    def normalised_area(self, metric: str, old_old: float, new_new: float) -> float:
        """The area between what the old and the new model reach alone.

        Args:
            metric: Its name.
            old_old: M(old, old).
            new_new: M(new, new).

        Returns:
            `(area - old_old) / (new_new - old_old)`.

        Raises:
            ValueError: The new model is no better than the old one.
        """
        if new_new <= old_old:
            raise ValueError(
                "`new_new` should be above `old_old` for an area between them. "
                f"Received: {new_new} and {old_old}."
            )
        return (self.area(metric) - old_old) / (new_new - old_old)

    def share_reaching(self, metric: str, value: float) -> float:
        """The share of the gallery from which on a metric is reached for good.

        Args:
            metric: Its name.
            value: What is to be reached.

        Returns:
            In 0..1; infinity where the curve ends below the value.

        Example:
            >>> curve = BackfillingCurve(
            ...     items=4,
            ...     cutoffs={"mAP": np.arange(5)},
            ...     values={"mAP": np.array([0.2, 0.8, 0.5, 0.8, 0.9])},
            ...     groups={},
            ... )
            >>> curve.share_reaching("mAP", 0.8)
            0.75
        """
        below = self.values[metric] < value
        first = int(np.flatnonzero(below)[-1]) + 1 if below.any() else 0
        if first == len(below):
            return float("inf")
        return float(self.cutoffs[metric][first] / self.items)

    def gap(self, metric: str) -> Floats:
        """(points,) the difference between the best and the worst group."""
        values = np.stack([curves[metric] for curves in self.groups.values()])
        return np.asarray(values.max(axis=0) - values.min(axis=0))

    def _values(self, metric: str, group: str | None) -> Floats:
        return self.values[metric] if group is None else self.groups[group][metric]


def backfilling_curve(
    old: EmbeddingSet,
    new: EmbeddingSet,
    order: npt.NDArray[Any],
    *,
    queries: EmbeddingSet | None = None,
    metrics: Sequence[str] = ("retrieval/mAP", "retrieval/CMC@1", "retrieval/CMC@5"),
    cutoffs: npt.NDArray[Any] | None = None,
    distance: str = "l2",
    exclude: Sequence[str] = ("self",),
    groups: npt.NDArray[Any] | None = None,
    execution: Execution | None = None,
) -> BackfillingCurve:
    """Measures metrics along a backfill, exactly.

    Args:
        old: n gallery items as they are stored (or mapped into the new space). Those
            without a label are embedded in their turn, and found by nobody.
        new: The same items embedded anew.
        order: (n,) integers: rows of the gallery in the order of the backfill.
        queries: m items, those without a label left out; None: `new`, as in FastFill,
            each without itself.
        metrics: `retrieval/mAP`, `retrieval/CMC@k` or `verification/TAR@FAR=x`.
        cutoffs: (points,) integers ascending, how many items are new; None: 0 to n
            for retrieval, and 101 for TAR, the papers' 22 among them.
        distance: `l2`, `cosine` or `inner_product`.
        exclude: `self`, `same_camera` and `junk`.
        groups: (m,) a name for each query: curves of each group, too. A query without
            one is in no group.
        execution: How the work is done.

    Raises:
        ValueError: Sides that hold other items, an order that is no permutation, a
            metric without a curve, cut-offs out of range, templates, no item with a
            label.

    Example:
        >>> old = EmbeddingSet(list("ab"), list("xy"), None, np.array([[0.0], [1.0]]))
        >>> new = EmbeddingSet(list("ab"), list("xy"), None, np.array([[1.0], [0.0]]))
        >>> query = EmbeddingSet(["q"], ["x"], None, np.array([[1.0]]))
        >>> curve = backfilling_curve(
        ...     old, new, np.array([1, 0]), queries=query, metrics=["retrieval/CMC@1"]
        ... )
        >>> curve.values["retrieval/CMC@1"].tolist()
        [0.0, 0.5, 1.0]
    """
    execution = execution or Execution()
    queries = new if queries is None else queries
    names = [MetricName.parse(name) for name in metrics]
    order = _check(old, new, order, names, groups, queries, exclude)
    retrieval = [name for name in names if name.task == "retrieval"]
    acceptance = [name for name in names if name.task == "verification"]
    group_of = np.zeros(len(queries), np.str_)
    if groups is not None:
        group_of = text_column("groups", groups)
    unlabelled = without_label(queries=queries, gallery=old)
    asking = takes_part("queries", queries, exclude)
    stored = takes_part("old", old, exclude)[order]
    # Of the first c items of the gallery so many take part.
    taking_part = np.concatenate([[0], np.cumsum(stored)])
    queries, group_of = only(queries, asking), group_of[asking]
    old, new = old.take(order[stored]), new.take(order[stored])
    versions = GalleryVersions(
        Scoring.of(distance, queries, old),
        Scoring.of(distance, queries, new),
        Relevance.of(queries, old, exclude),
    )
    if not (versions.relevance.kept_members > 0).any():
        raise ValueError(
            "`queries` should have at least one whose label the gallery holds. "
            "Received none."
        )
    group_names, group = np.unique(group_of, return_inverse=True)
    items = len(order)
    chosen = None if cutoffs is None else as_cutoffs(cutoffs, items)
    curves: dict[str, Floats] = {}
    points: dict[str, Integers] = {}
    if retrieval:
        at = np.arange(items + 1) if chosen is None else chosen
        moved, back = np.unique(taking_part[at], return_inverse=True)
        found = retrieval_curves(versions, retrieval, moved, group, execution)
        curves |= {name: values[:, back] for name, values in found.items()}
        points |= {name.name: at for name in retrieval}
    if acceptance:
        at = acceptance_cutoffs(items) if chosen is None else chosen
        moved, back = np.unique(taking_part[at], return_inverse=True)
        found = acceptance_curves(versions, acceptance, moved, group, execution)
        curves |= {name: values[:, back] for name, values in found.items()}
        points |= {name.name: at for name in acceptance}
    return BackfillingCurve(
        items,
        points,
        {name.name: curves[name.name][-1] for name in names},
        {}
        if groups is None
        else {
            str(group_name): {name.name: curves[name.name][i] for name in names}
            for i, group_name in enumerate(group_names)
            if group_name != MISSING
        },
        unlabelled,
    )


def _check(
    old: EmbeddingSet,
    new: EmbeddingSet,
    order: npt.NDArray[Any],
    names: Sequence[MetricName],
    groups: npt.NDArray[Any] | None,
    queries: EmbeddingSet,
    exclude: Sequence[str],
) -> Integers:
    """Refuses what has no curve; gives the order as integers."""
    if len(old) != len(new) or (old.ids != new.ids).any():
        raise ValueError(
            "`new` should hold the items of `old` in the same order. Received "
            f"{len(new)} and {len(old)} items."
        )
    for name in names:
        whole = name.kind == "mAP" and name.count is None
        if not (whole or name.kind in ("CMC", "recall", "TAR")):
            raise ValueError(
                "`metrics` should be retrieval/mAP, retrieval/CMC@k or "
                f"verification/TAR@FAR=x to have a curve. Received: {name.name!r}."
            )
    for exclusion in exclude:
        if exclusion not in EXCLUSIONS:
            raise ValueError(
                f"`exclude` should be of {', '.join(EXCLUSIONS)}. Received: "
                f"{exclusion!r}."
            )
    refuse_templates("old", old)
    refuse_templates("queries", queries)
    order = np.asarray(order)
    if (
        order.dtype.kind not in "iu"
        or order.shape != (len(old),)
        or (np.bincount(order.clip(0, len(old)), minlength=len(old)) != 1).any()
    ):
        raise ValueError(
            f"`order` should hold each of the rows 0 to {len(old) - 1} once. "
            f"Received: shape {order.shape}, dtype {order.dtype}."
        )
    if groups is not None and np.shape(groups) != (len(queries),):
        raise ValueError(
            f"`groups` should name a group for each of the {len(queries)} queries. "
            f"Received: shape {np.shape(groups)}."
        )
    return order.astype(np.int64)

"""Whether a map is worth it: its error, the criterion, and what is left to backfill."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.adapter import Adapter, NewToOld
from keras_bct.adapters.embedding_rows import embedding_rows, finite_blocks
from keras_bct.backfill.distance import distance_to_new
from keras_bct.backfill.explained_variance import leads_elsewhere
from keras_bct.backfill.ordering import highest_first, random_order
from keras_bct.backfill.variance import predicted_variance
from keras_bct.checked_labels import label_array
from keras_bct.evaluation.backfilling.backfilling_curve import backfilling_curve
from keras_bct.evaluation.decision.comparison import (
    Comparison,
    MetricComparison,
    compare_measurements,
)
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet, check_same_items
from keras_bct.evaluation.inputs.protocol import Protocol, Source
from keras_bct.evaluation.measurement.measuring import measure
from keras_bct.text_column import text_column

GOAL = 0.95
"""The share of M(new, new) that counts as having arrived."""

WORTH = 0.5
"""A map that recovers less of a full backfill's gain is warned of."""

_METRICS = ("retrieval/mAP", "retrieval/CMC@1")


@dataclasses.dataclass(frozen=True, eq=False)
class BridgingReport:
    """What a map does on pairs that it was not fitted to.

    Attributes:
        direction: The adapter's.
        method: The adapter's.
        pairs: How many pairs were held out.
        squared_error: Mean over pairs, summed over components.
        missed: The same as a share of the target's variance: 1 for mapping everything
            to the mean.
        cosine: Mean over pairs of mapped and target rows, those of length zero left
            out; NaN where none is left.
        comparison: Of the criterion: `old_old`, `new_old` with the map between them,
            `new_new`; the paragon is `new_new`, so the gain is the share of a full
            backfill's. None without labels.
        to_backfill: For each metric that has a curve the share of the gallery that must
            be embedded anew to reach 95 % of M(new, new); infinity where all of it is
            not enough.
        warnings: Sentences with numbers where the map is not worth it, or leads
            elsewhere than to the target.
    """

    direction: str
    method: str
    pairs: int
    squared_error: float
    missed: float
    cosine: float
    comparison: Comparison | None
    to_backfill: Mapping[str, float]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        """The report as a few lines of text."""
        lines = [
            f"{self.method}, {self.direction}, {self.pairs} pairs held out: squared "
            f"error {self.squared_error:.4g} ({self.missed:.1%} of the variance), "
            f"cosine {self.cosine:.4f}"
        ]
        if self.comparison is not None:
            for name, metric in self.comparison.metrics.items():
                low, high = metric.difference_interval(self.comparison.confidence)
                gain = "none" if metric.gain is None else f"{metric.gain:.1%}"
                ends = metric.gain_interval(self.comparison.confidence)
                if ends is not None:
                    gain += f" ({ends[0]:.1%} to {ends[1]:.1%})"
                lines.append(
                    f"{name}: M(old, old) {metric.old_old:.4f}, bridged "
                    f"{metric.new_old:.4f} (difference {low:+.4f} to {high:+.4f}), "
                    f"M(new, new) {metric.new_new:.4f}, gain {gain}"
                )
        return "\n".join([*lines, *(f"Warning: {text}" for text in self.warnings)])


def bridging_report(
    adapter: Adapter,
    old: NDArray[Any],
    new: NDArray[Any],
    *,
    labels: Sequence[str] | NDArray[np.str_] | None = None,
    cameras: Sequence[str] | NDArray[np.str_] | None = None,
    ids: Sequence[str] | NDArray[np.str_] | None = None,
    queries: tuple[EmbeddingSet, EmbeddingSet] | None = None,
    protocol: Protocol | None = None,
    order: NDArray[Any] | None = None,
    side_information: NDArray[Any] | None = None,
    worth: float = WORTH,
) -> BridgingReport:
    """Judge a map by pairs that it was not fitted to.

    Where labels are given the pairs are a gallery, and `queries` ask for them. A map
    from old to new is measured as M(new, h(old)), one from new to old as M(B(new),
    old); as the backfill goes on, items carry the new embedding, or B of it. Without
    `queries` every pair asks for all others, which says little of what users ask, and
    is warned of.

    Args:
        adapter: The map.
        old: `(n, d_old)` raw embeddings of the old version.
        new: `(n, d_new)` raw embeddings of the new version of the same items.
        labels: n class names; None: errors only.
        cameras: n names, as the gallery has them, or None.
        ids: n names, needed beside `queries`: a query that is one of the pairs does not
            find itself.
        queries: The queries of your protocol by the old and by the new version, with
            their labels and cameras.
        protocol: Distance, metrics, what is excluded, and confidence; its sources are
            not read. None: mAP and CMC@1 by cosine, without the query itself and,
            where cameras are given, without its own camera's pictures of its class.
        order: `(n,)` rows in the order of the backfill; None: by predicted variance
            where the map has it, else at random.
        side_information: `(n, side_size)` where the map was fitted with some.
        worth: A gain below this is warned of.

    Raises:
        ValueError: No pair, shapes that do not fit each other and the map, NaN or
            infinity, squares that float64 cannot hold, a label that is missing,
            `queries` without labels and ids of the pairs or by two versions that are
            not of the same items, or what `measure` refuses.
        TypeError: No floating type.

    Example:
        >>> from keras_bct.adapters import Ridge
        >>> generator = np.random.default_rng(0)
        >>> old = generator.normal(size=(100, 3))
        >>> sides = {"old_fingerprint": "0a", "new_fingerprint": "1b"}
        >>> adapter = Ridge().fit(old[:50], 2 * old[:50], **sides)
        >>> report = bridging_report(adapter, old[50:], 2 * old[50:])
        >>> report.pairs, round(report.missed, 3)
        (50, 0.0)
    """
    sizes = {adapter.source: adapter.input_size, adapter.target: adapter.output_size}
    sides = {
        name: embedding_rows(name, rows, sizes[name])
        for name, rows in (("old", old), ("new", new))
    }
    if len(old) != len(new):
        raise ValueError(
            "`old` and `new` should be pairs: row i of both shows item i. Received: "
            f"{len(old)} and {len(new)} rows."
        )
    if not len(old):
        raise ValueError("`old` and `new` should hold at least one pair. Received: 0.")
    for name, rows in sides.items():
        list(finite_blocks(name, rows))
    mapped, log_variance = adapter.transform_with_variance(
        sides[adapter.source], side_information=side_information
    )
    target = sides[adapter.target].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = ((mapped - target) ** 2).sum(axis=1).mean()
        variance = ((target - target.mean(axis=0)) ** 2).sum(axis=1).mean()
    if not np.isfinite([squared, variance]).all():
        raise ValueError(
            "`old` and `new` should be small enough for float64 to hold the squares of "
            f"rows and errors. Received: components up to {np.abs(old).max():.1e} and "
            f"{np.abs(new).max():.1e}; divide them before the map is fitted."
        )
    directed = mapped.any(axis=1) & target.any(axis=1)
    cosine = float("nan")
    if directed.any():
        angles = distance_to_new(mapped[directed], target[directed], distance="cosine")
        cosine = 1 - float(angles.mean())
    comparison: Comparison | None = None
    to_backfill: dict[str, float] = {}
    warnings: tuple[str, ...] = ()
    # One pair, or a target that stands still, has nothing to explain.
    if variance:
        warnings = leads_elsewhere(adapter.target, mapped, sides[adapter.target])
    if queries is not None and (labels is None or ids is None):
        raise ValueError(
            "`queries` should come with `labels` and `ids` of the pairs that they ask "
            f"for. Received: labels {'none' if labels is None else 'given'}, ids "
            f"{'none' if ids is None else 'given'}."
        )
    if labels is not None:
        if order is None and log_variance is not None:
            order = highest_first(predicted_variance(log_variance))
        elif order is None:
            order = random_order(len(old), seed=0)
        gallery = EmbeddingSet(
            np.arange(len(old)).astype(np.str_)
            if ids is None
            else text_column("ids", ids),
            label_array(labels, len(old)),
            None if cameras is None else text_column("cameras", cameras),
            sides["old"],
        )
        warnings += _left_open(gallery, queries, protocol)
        protocol = protocol or _default_protocol(gallery, queries)
        comparison, to_backfill = _measured(
            adapter, gallery, sides["new"], mapped, queries, protocol, order
        )
        warnings += tuple(
            text
            for name in comparison.gate_metrics
            for text in _warnings(
                name,
                comparison[name],
                comparison.confidence,
                to_backfill.get(name),
                worth,
            )
        )
    return BridgingReport(
        direction=adapter.direction,
        method=adapter.method,
        pairs=len(old),
        squared_error=float(squared),
        missed=float(squared) / float(variance) if variance else float("nan"),
        cosine=cosine,
        comparison=comparison,
        to_backfill=to_backfill,
        warnings=warnings,
    )


def _default_protocol(
    gallery: EmbeddingSet, queries: tuple[EmbeddingSet, EmbeddingSet] | None
) -> Protocol:
    unread = Source("embeddings", "held-out pairs")
    exclude = ["self"]
    if all(side.cameras is not None for side in (gallery, *(queries or ()))):
        exclude.append("same_camera")
    return Protocol("held-out pairs", unread, unread, _METRICS, exclude=tuple(exclude))


def _left_open(
    gallery: EmbeddingSet,
    queries: tuple[EmbeddingSet, EmbeddingSet] | None,
    protocol: Protocol | None,
) -> tuple[str, ...]:
    """What the numbers do not tell, since it was not given."""
    texts = []
    if queries is None:
        texts.append(
            "no `queries` were given, so each pair asked for the others. A map may "
            "look far better on them than on real queries; give those of your protocol "
            "before you trust the gain."
        )
    if protocol is None and "same_camera" not in (
        _default_protocol(gallery, queries).exclude
    ):
        texts.append(
            "no `cameras` were given, and no `protocol` that says whether they count: "
            "pictures that the query's own camera took of its class count as found."
        )
    return tuple(texts)


def _measured(
    adapter: Adapter,
    old: EmbeddingSet,
    new_rows: NDArray[Any],
    mapped: NDArray[Any],
    queries: tuple[EmbeddingSet, EmbeddingSet] | None,
    protocol: Protocol,
    order: NDArray[Any],
) -> tuple[Comparison, dict[str, float]]:
    new = dataclasses.replace(old, embeddings=new_rows)
    bridge = dataclasses.replace(old, embeddings=mapped)
    backward = isinstance(adapter, NewToOld)
    # What is searched before the backfill, and what it becomes item by item.
    stored, embedded_anew = (old, bridge) if backward else (bridge, new)
    asking_old, asking_new, asking = old, new, embedded_anew
    if queries is not None:
        asking_old, asking_new = queries
        check_same_items("queries[1]", asking_new, "queries[0]", asking_old)
        asking = asking_new
        if backward:
            rows = adapter.transform(asking_new.embeddings)
            asking = dataclasses.replace(asking_new, embeddings=rows)
    new_new = measure(protocol, asking_new, new)
    comparison = compare_measurements(
        protocol,
        old_old=measure(protocol, asking_old, old),
        new_old=measure(protocol, asking, stored),
        new_new=new_new,
        paragon=new_new,
    )
    curved = [
        metric.name
        for metric in protocol.metric_names
        if metric.kind in ("CMC", "TAR") or metric.name == "retrieval/mAP"
    ]
    if not curved:
        return comparison, {}
    curve = backfilling_curve(
        stored,
        embedded_anew,
        order,
        queries=asking,
        metrics=curved,
        distance=protocol.distance,
        exclude=protocol.exclude,
    )
    shares = {
        name: curve.share_reaching(name, GOAL * new_new.values[name]) for name in curved
    }
    return comparison, shares


def _warnings(
    name: str,
    metric: MetricComparison,
    confidence: float,
    share: float | None,
    worth: float,
) -> list[str]:
    assert metric.new_new is not None
    # A gate's metrics rise as the model gets better.
    low, high = metric.difference_interval(confidence)
    bridged = f"{metric.new_old:.4f} bridged, {metric.old_old:.4f} as it is"
    texts = []
    if metric.new_new <= metric.old_old:
        texts.append(
            f"{name}: nothing to gain, the new model with a full backfill reaches "
            f"{metric.new_new:.4f} and the old one {metric.old_old:.4f}."
        )
    if low <= 0:
        texts.append(
            f"{name}: bridging is not shown to be better than staying with the old "
            f"model: {bridged}, difference {low:+.4f} to {high:+.4f} at "
            f"{confidence:.0%}."
        )
    if metric.gain is not None and metric.gain < worth:
        texts.append(
            f"{name}: bridging recovers {metric.gain:.1%} of what a full backfill "
            f"gains ({bridged}, {metric.new_new:.4f} with a full backfill)."
        )
    if texts and share is not None:
        texts.append(
            f"{name}: {GOAL:.0%} of M(new, new) = {metric.new_new:.4f} takes "
            + (
                f"backfilling {share:.1%} of the gallery in this order."
                if np.isfinite(share)
                else "more than backfilling all of it through this map."
            )
        )
    return texts

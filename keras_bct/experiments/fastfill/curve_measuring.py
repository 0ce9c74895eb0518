"""From models and maps to the numbers of a row."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.backfill import (
    ClassCentres,
    distance_to_class_mean,
    highest_first,
    kendall_tau,
    predicted_variance,
    random_order,
    uncertainty,
)
from keras_bct.classifier import Classifier
from keras_bct.data import glyphs
from keras_bct.evaluation import EmbeddingSet, backfilling_curve, paper_cutoffs
from keras_bct.experiments.fastfill import pictures
from keras_bct.experiments.fastfill.aligned_parts import AlignedParts
from keras_bct.experiments.fastfill.curve_numbers import (
    METRICS,
    CurveNumbers,
    MetricCurve,
)
from keras_bct.experiments.fastfill.linear_fit import linear_fit
from keras_bct.experiments.fastfill.map_methods import Backward, MappedItems
from keras_bct.experiments.fastfill.rows import BackfillRow, Setting

DISTANCE = "cosine"
"""The glyph models' own; the papers take l2 on ImageNet."""

_SHARES = (0.95, 0.99)

Floats = npt.NDArray[np.floating[Any]]


class CurveMeasuring:
    """Measures rows.

    Args:
        aligned: Models and maps.
        by_group: Whether the two groups of characters are told apart.
    """

    def __init__(self, aligned: AlignedParts, *, by_group: bool = False) -> None:
        self._aligned = aligned
        self._by_group = by_group
        self._alone: dict[tuple[str, str], dict[str, float]] = {}

    def __call__(self, row: BackfillRow, setting: Setting, seed: int) -> CurveNumbers:
        """Gives the numbers of a row.

        Args:
            row: Map and order.
            setting: The test pictures.
            seed: Of the random order.
        """
        migration = row.migration
        new = self._aligned.items(migration.new, setting.part)
        embeddings, variance = self._aligned.mapped(row.method, migration, setting.part)
        mapped = dataclasses.replace(new, embeddings=embeddings)
        if isinstance(row.method, Backward):
            old = self._aligned.items(migration.old, setting.part)
            mapped, new = dataclasses.replace(new, embeddings=old.embeddings), mapped
        tau = None
        if row.order == "random":
            order = random_order(len(new), seed)
        else:
            oracle = row.method.loss(
                MappedItems(
                    mapped.embeddings, new.embeddings, new.labels, self._classifier(row)
                )
            )
            priority = self._priority(row, mapped, variance, oracle)
            order = highest_first(priority)
            tau = kendall_tau(priority, oracle)
        whole = backfilling_curve(
            mapped, new, order, metrics=METRICS, distance=DISTANCE
        )
        classes = backfilling_curve(
            mapped,
            new,
            order,
            metrics=METRICS[:1],
            distance=DISTANCE,
            cutoffs=paper_cutoffs(len(new)),
            groups=new.labels,
        )
        names = sorted(set(new.labels.tolist()))
        groups = self._groups(tuple(names))
        points = np.stack([classes.groups[name][METRICS[0]] for name in names])
        old_old = self._self_test(migration.old, setting)
        return CurveNumbers(
            metrics={
                metric: _metric_curve(whole, metric, old_old[metric])
                for metric in METRICS
            },
            class_points=tuple(map(tuple, points.tolist())),
            groups={
                name: tuple(points[groups == name].mean(axis=0).tolist())
                for name in sorted(set(groups.tolist()))
            },
            class_groups=tuple(groups.tolist()),
            tau=tau,
        )

    def _groups(self, characters: tuple[str, ...]) -> npt.NDArray[np.str_]:
        if not self._by_group:
            return np.array([], np.str_)
        return pictures.groups(characters, glyphs.load())

    def _self_test(self, training: Any, setting: Setting) -> dict[str, float]:
        """M(a, a) of a model, every item a query against all others."""
        key = (training.digest(self._aligned.versions.data_digests), setting.part)
        if key not in self._alone:
            items = self._aligned.items(training, setting.part)
            curve = backfilling_curve(
                items,
                items,
                np.arange(len(items)),
                metrics=METRICS,
                distance=DISTANCE,
                cutoffs=np.array([0]),
            )
            self._alone[key] = {
                metric: float(curve.values[metric][0]) for metric in METRICS
            }
        return self._alone[key]

    def _priority(
        self,
        row: BackfillRow,
        mapped: EmbeddingSet,
        variance: Floats | None,
        oracle: Floats,
    ) -> Floats:
        if row.order == "sigma":
            if variance is None:
                raise ValueError(
                    f"`order` 'sigma' needs a map that predicts it. Received: "
                    f"{row.title!r}"
                )
            one = variance.ndim == 2 and variance.shape[1] == 1
            return predicted_variance(variance[:, 0] if one else variance)
        if row.order == "class mean":
            centres = ClassCentres.gather([(mapped.embeddings, mapped.labels)])
            return distance_to_class_mean(
                mapped.embeddings, mapped.labels, centres, distance=DISTANCE
            )
        if row.order == "entropy":
            return uncertainty(mapped.embeddings, self._classifier(row).weights)
        if row.order == "linear":
            return linear_fit(mapped.embeddings, oracle)
        return oracle

    def _classifier(self, row: BackfillRow) -> Classifier:
        version = self._aligned.versions.version(row.migration.new)
        return Classifier.load(version / "assets.extra")


def _metric_curve(curve: Any, metric: str, old_old: float) -> MetricCurve:
    values = curve.values[metric]
    new_new = float(values[-1])
    shares = [curve.share_reaching(metric, share * new_new) for share in _SHARES]
    return MetricCurve(
        old_old=old_old,
        new_new=new_new,
        points=tuple(values[paper_cutoffs(curve.items)].tolist()),
        exact_area=curve.exact_area(metric),
        shares=(shares[0], shares[1]),
    )

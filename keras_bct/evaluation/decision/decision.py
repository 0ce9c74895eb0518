"""The gate: reads evidence and answers yes, no, or that it cannot be decided."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from keras_bct.counted import counted
from keras_bct.evaluation.decision.comparison import Comparison, MetricComparison
from keras_bct.evaluation.inputs.metric_name import MetricName
from keras_bct.evaluation.inputs.protocol import Gate, check_confidence

Answer = Literal["yes", "no", "undecided"]
Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Decision:
    """The gate's answer.

    Attributes:
        answer: `yes`, `no` or `undecided`.
        reasons: Sentences with their numbers, one or more for each gate metric.
        identities_needed: How many identities would probably decide it, where it is
            undecided and more of them can help; else None.
    """

    answer: Answer
    reasons: tuple[str, ...]
    identities_needed: int | None = None


def decide(
    comparison: Comparison,
    gate: Gate | None = None,
    confidence: float | None = None,
    min_gain: float | None = None,
) -> Decision:
    """Asks whether the new model may stand in front of the old gallery.

    For every gate metric the two-sided interval of M(new, old) - M(old, old) must lie
    above zero; where a least gain is asked for, the interval of the gain must not
    reach below it. One metric that fails makes the answer no; otherwise one that is
    open makes it undecided. To exceed a baseline that finds nothing proves nothing:
    where the interval of M(old, old) reaches down to chance, the answer is no.

    Args:
        comparison: The measured numbers.
        gate: The rule; None: the one of the protocol that was measured.
        confidence: Takes the place of the gate's.
        min_gain: Takes the place of the gate's.

    Raises:
        ValueError: No metric to read, or one that the comparison lacks.
    """
    metrics = (gate.metrics if gate else ()) or comparison.gate_metrics
    if not metrics:
        raise ValueError(
            "`comparison` should name the metrics that its gate reads. Received none: "
            "nothing that was asked cannot be answered yes."
        )
    if confidence is None:
        confidence = gate.confidence if gate else comparison.confidence
    check_confidence(confidence)
    if min_gain is None:
        min_gain = gate.min_gain if gate else comparison.min_gain
    answers: list[Answer] = []
    reasons: list[str] = []
    needed: list[int | None] = []
    for name in metrics:
        if name not in comparison.metrics:
            raise ValueError(
                f"`gate.metrics` should be among the measured metrics. Received: "
                f"{name!r}, measured: {', '.join(comparison.metrics)}."
            )
        metric = comparison.metrics[name]
        parts = _refuse_chance(name, metric, confidence)
        parts.append(_ask_criterion(name, metric, confidence))
        if min_gain is not None:
            parts.append(_ask_gain(name, metric, confidence, min_gain))
        for part in parts:
            answers.append(part.answer)
            reasons.extend(part.reasons)
            needed.append(part.identities_needed if part.answer == "undecided" else 0)
    answer: Answer = "yes"
    if "no" in answers:
        answer = "no"
    elif "undecided" in answers:
        answer = "undecided"
    enough = None
    if answer == "undecided" and None not in needed:
        enough = max(count or 0 for count in needed)
    return Decision(answer, tuple(reasons), enough)


def _refuse_chance(
    name: str, metric: MetricComparison, confidence: float
) -> list[Decision]:
    """Say no where the old model finds nothing in its own gallery."""
    interval = metric.baseline_interval(confidence)
    if interval is None or metric.chance is None:
        return []
    low, high = interval
    higher = MetricName.parse(name).higher_is_better
    if low > metric.chance if higher else high < metric.chance:
        return []
    return [
        Decision(
            "no",
            (
                f"{name}: M(old, old) = {metric.old_old:.4f} with "
                f"{100 * confidence:g} % interval [{low:.4f}, {high:.4f}] is no better "
                f"than chance ({metric.chance:.4f}), so nothing can be proven by "
                "exceeding it. Probably the gallery's vectors were not made by the "
                "model that embeds the old queries, or the labels are not theirs: "
                "embed some of the gallery's pictures with it and compare. Or there "
                "are too few identities to tell.",
            ),
        )
    ]


def _ask_criterion(name: str, metric: MetricComparison, confidence: float) -> Decision:
    low, high = metric.difference_interval(confidence)
    measured = (
        f"{name}: M(new, old) = {metric.new_old:.4f}, M(old, old) = "
        f"{metric.old_old:.4f}, difference {metric.difference:+.4f} with "
        f"{100 * confidence:g} % interval [{low:+.4f}, {high:+.4f}] over "
        f"{counted(metric.identities, 'identity', 'identities')}"
    )
    if low > 0:
        return _yes_if_resolved(
            f"{measured}: the interval lies above zero",
            metric.difference_replicates,
            metric.identities,
            confidence,
        )
    if high <= 0:
        return Decision("no", (f"{measured}: the interval does not reach above zero.",))
    return _undecided(measured, "zero", 0.0, metric, metric.difference, (low, high))


def _ask_gain(
    name: str, metric: MetricComparison, confidence: float, min_gain: float
) -> Decision:
    asked = f"{name}: a gain of at least {min_gain:.4f} is asked for"
    if metric.gain is None:
        return Decision(
            "no", (f"{asked}, but the gain is undefined: {metric.gain_undefined}.",)
        )
    interval = metric.gain_interval(confidence)
    assert interval is not None
    low, high = interval
    measured = (
        f"{asked}, and it is {metric.gain:.4f} with {100 * confidence:g} % interval "
        f"[{low:.4f}, {high:.4f}] over "
        + counted(metric.identities, "identity", "identities")
    )
    if low >= min_gain:
        assert metric.gain_replicates is not None
        return _yes_if_resolved(
            f"{measured}: the interval does not reach below it",
            metric.gain_replicates,
            metric.identities,
            confidence,
        )
    if high < min_gain:
        return Decision("no", (f"{measured}: the interval lies below it.",))
    return _undecided(measured, "it", min_gain, metric, metric.gain, interval)


def _yes_if_resolved(
    reason: str, replicates: Floats, identities: int, confidence: float
) -> Decision:
    """Yes, if identities and replicates are enough for an end of the interval.

    All of n identities fare better by chance alone once in 2^n, and resampling so few
    cannot show it: one identity's interval is a point. Without replicates beyond its
    end, the interval is that of the replicates and not of the confidence: more of
    them would move it. Replicates without a value may lie beyond it too.
    """
    enough = math.ceil(math.log2(2 / (1 - confidence)))
    if identities < enough:
        return Decision(
            "undecided",
            (
                f"{reason}, but so few identities may all fare better by chance; at "
                f"that confidence it needs {enough} or more.",
            ),
            enough,
        )
    beyond = (1 - confidence) / 2 * len(replicates)
    # A little less than one is one: 1 - 0.999 is not quite 0.001.
    if beyond < 1 - 1e-9:
        needed = math.ceil(2 / (1 - confidence) - 1e-6)
        return Decision(
            "undecided",
            (
                f"{reason}, but {len(replicates)} replicates cannot tell at that "
                f"confidence: it needs {needed} (`bootstrap.replicates`).",
            ),
        )
    missing = int(np.count_nonzero(~np.isfinite(replicates)))
    if missing > beyond:
        return Decision(
            "undecided",
            (
                f"{reason}, but {missing} of {len(replicates)} replicates have no "
                "value, so it may well reach further.",
            ),
        )
    return Decision("yes", (f"{reason}.",))


def _undecided(
    measured: str,
    goal_name: str,
    goal: float,
    metric: MetricComparison,
    estimate: float,
    interval: tuple[float, float],
) -> Decision:
    """Says how many identities would decide it, were the estimate the truth.

    The interval's width falls with the square root of the number of identities, so
    its nearer end reaches the goal once that number has grown by the square of
    (estimate to that end) / (estimate to the goal).
    """
    margin = estimate - goal
    reach = estimate - interval[0] if margin > 0 else interval[1] - estimate
    ratio = reach / abs(margin) if margin else math.inf
    if not math.isfinite(ratio) or ratio > 1000:
        sentence = "no practicable number of identities would decide it"
        return Decision(
            "undecided", (f"{measured}: {goal_name} lies inside, and {sentence}.",)
        )
    needed = max(metric.identities + 1, math.ceil(metric.identities * ratio**2))
    answer = "yes" if margin > 0 else "no"
    return Decision(
        "undecided",
        (
            f"{measured}: {goal_name} lies inside, so this much data cannot decide "
            f"it. About {counted(needed, 'identity', 'identities')} would, probably "
            f"with the answer {answer}.",
        ),
        needed,
    )

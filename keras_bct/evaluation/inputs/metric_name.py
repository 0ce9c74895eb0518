"""Names of metrics: which exist, and what a name such as ``CMC@5`` asks for."""

from __future__ import annotations

import dataclasses
import re

from keras_bct.did_you_mean import did_you_mean

_COUNT = r"[1-9][0-9]*"
_RATE = r"[0-9.]+(?:[eE][-+]?[0-9]+)?"

# One row a metric: the pattern of its name, and the name as the docs print it.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"retrieval/(?P<kind>mAP)", "retrieval/mAP"),
    (rf"retrieval/(?P<kind>mAP)@(?P<count>{_COUNT})", "retrieval/mAP@k"),
    (r"retrieval/(?P<kind>mAP@R)", "retrieval/mAP@R"),
    (rf"retrieval/(?P<kind>CMC)@(?P<count>{_COUNT})", "retrieval/CMC@k"),
    (rf"retrieval/(?P<kind>recall)@(?P<count>{_COUNT})", "retrieval/recall@k"),
    (rf"retrieval/(?P<kind>precision)@(?P<count>{_COUNT})", "retrieval/precision@k"),
    (r"retrieval/(?P<kind>R-precision)", "retrieval/R-precision"),
    (r"retrieval/(?P<kind>nDCG)", "retrieval/nDCG"),
    (rf"retrieval/(?P<kind>nDCG)@(?P<count>{_COUNT})", "retrieval/nDCG@k"),
    (rf"verification/(?P<kind>TAR)@FAR=(?P<rate>{_RATE})", "verification/TAR@FAR=x"),
    (r"verification/(?P<kind>EER)", "verification/EER"),
    (
        rf"identification/(?P<kind>TPIR)@FPIR=(?P<rate>{_RATE})"
        rf"(?:,rank=(?P<count>{_COUNT}))?",
        "identification/TPIR@FPIR=x[,rank=k]",
    ),
    (rf"identification/(?P<kind>rank)@(?P<count>{_COUNT})", "identification/rank@k"),
    (r"prototype/(?P<kind>accuracy)", "prototype/accuracy"),
)

KNOWN_METRICS = tuple(printed for _, printed in _PATTERNS)


@dataclasses.dataclass(frozen=True)
class MetricName:
    """A metric's name, taken apart.

    Attributes:
        name: the whole name, as the protocol writes it.
        task: ``retrieval``, ``verification``, ``identification`` or ``prototype``.
        kind: what is computed in that task, e.g. ``mAP``.
        count: k in ``CMC@k`` and the like; the rank limit of TPIR; None without one.
        rate: x in ``FAR=x`` and ``FPIR=x``; None without one.

    Example:
        >>> metric = MetricName.parse("verification/TAR@FAR=0.001")
        >>> metric.task, metric.kind, metric.rate
        ('verification', 'TAR', 0.001)
    """

    name: str
    task: str
    kind: str
    count: int | None = None
    rate: float | None = None

    @classmethod
    def parse(cls, name: str) -> MetricName:
        """Takes a metric's name apart.

        Raises:
            ValueError: there is no such metric, or its rate is not in (0, 1).
        """
        for pattern, _ in _PATTERNS:
            match = re.fullmatch(pattern, str(name))
            if match is None:
                continue
            parts = match.groupdict()
            try:
                rate = float(parts["rate"]) if parts.get("rate") else None
            except ValueError:
                break
            if rate is not None and not 0 < rate < 1:
                raise ValueError(
                    f"`metrics`: the rate in {name!r} should lie between 0 and 1. "
                    f"Received: {rate}."
                )
            count = int(parts["count"]) if parts.get("count") else None
            task = str(name).split("/")[0]
            return cls(str(name), task, parts["kind"], count, rate)
        raise ValueError(
            f"`metrics` should name known metrics. Received: {name!r}. "
            f"Known: {', '.join(KNOWN_METRICS)}.{did_you_mean(name, KNOWN_METRICS)}"
        )

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger value is a better one (all but the equal error rate)."""
        return self.kind != "EER"

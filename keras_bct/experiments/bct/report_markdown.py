"""A table's numbers as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from keras_bct.experiments.bct.measured import CONFIDENCE, Interval, Measured
from keras_bct.experiments.bct.report import Report
from keras_bct.experiments.harness.result_page import completeness, result_page

_NOTHING = "-"


def to_markdown(report: Report) -> str:
    """Gives the table as Markdown: the mean over seeds first, then seed by seed."""
    table = report.table
    layouts = {"criterion": _criterion, "self": _self_tests, "chain": _chain}
    sections = _claims(report)
    for metric in report.metrics:
        sections += ["", f"## {metric}", "", *layouts[table.layout](report, metric)]
    return result_page(
        f"{table.name.replace('table', 'Table ')}: {table.title}",
        table.name,
        table.title,
        table.about,
        seeds=report.seeds,
        complete=completeness(report.titles, report.results, report.seeds),
        picture=report.has_numbers,
        sections=sections,
        reading=_reading(report),
        provenance=report.provenance,
    )


def _claims(report: Report) -> list[str]:
    """Each claim, and the seeds whose numbers hold it or do not."""
    if not report.table.claims:
        return []
    body = []
    for claim in report.table.claims:
        answers: dict[bool, list[str]] = {True: [], False: []}
        for seed, rows in sorted(report.results.items()):
            if all(title in rows for title in claim.titles):
                answers[claim.holds(rows)].append(str(seed))
        written = (", ".join(answers[answer]) or _NOTHING for answer in (True, False))
        body.append((claim.sentence, *written))
    head = ("expected", "holds for seed", "does not hold for seed")
    return ["", "## What was expected", "", *_rows(head, body)]


def _criterion(report: Report, metric: str) -> list[str]:
    says = bool(report.table.paper)
    of_rows = {title: report.of(title, metric) for title in report.titles}
    means = _rows(
        (
            "new model",
            "M(old, old)",
            "M(new, old)",
            "M(new, mixed)",
            "M(new, new)",
            "cosine",
            "gain",
            "Eq. 2",
            *(["the paper"] * says),
        ),
        (
            (
                title,
                _mean(values, lambda m: m.old_old),
                _mean(values, lambda m: m.new_old),
                _mean(values, lambda m: m.new_mixed),
                _mean(values, lambda m: m.new_new),
                _mean(values, lambda m: m.agreement),
                _mean(values, lambda m: m.gain, _percent),
                _answers(values.values()),
                *([report.table.paper.get((title, metric), "")] * says),
            )
            for title, values in of_rows.items()
        ),
    )
    each = _rows(
        ("new model", "seed", "M(new, old) - M(old, old)", "Eq. 2", "gain"),
        (
            (
                title,
                str(seed),
                _difference(m.new_old - m.old_old, m.difference_interval),
                m.answer,
                _gain(m),
            )
            for title, values in of_rows.items()
            for seed, m in values.items()
        ),
    )
    return [*means, "", *each]


def _self_tests(report: Report, metric: str) -> list[str]:
    of_rows = {title: report.of(title, metric) for title in report.titles}
    means = _rows(
        ("new model", "M(new, new)", "below new\\*", "the paper"),
        (
            (
                title,
                _mean(values, lambda m: m.new_new),
                _mean(values, _share_below, _percent),
                report.table.paper.get((title, metric), ""),
            )
            for title, values in of_rows.items()
        ),
    )
    each = _rows(
        ("new model", "seed", "M(new, new)", "M(new, new) - M(new\\*, new\\*)"),
        (
            (title, str(seed), _number(m.new_new), _self_difference(m))
            for title, values in of_rows.items()
            for seed, m in values.items()
        ),
    )
    return [*means, "", *each]


def _chain(report: Report, metric: str) -> list[str]:
    second, third, third_second = (
        report.of(title, metric) for title in report.titles[:3]
    )
    cells = _rows(
        ("queries by", "gallery of phi1", "gallery of phi2", "gallery of phi3"),
        (
            ("phi1", _mean(second, lambda m: m.old_old), _NOTHING, _NOTHING),
            (
                "phi2",
                _mean(second, lambda m: m.new_old),
                _mean(second, lambda m: m.new_new),
                _NOTHING,
            ),
            (
                "phi3",
                _mean(third, lambda m: m.new_old),
                _mean(third_second, lambda m: m.new_old),
                _mean(third, lambda m: m.new_new),
            ),
        ),
    )
    return [*cells, "", *_criterion(report, metric)]


def _reading(report: Report) -> list[str]:
    percent = f"{CONFIDENCE:.0%}".replace("%", " %")
    lines = [
        "Each cell of the first table is the mean over the seeds that are in, with the "
        "lowest and the highest seed behind it. Seeds are not pooled into one "
        f"interval: the table seed by seed has, for each, the {percent} interval of "
        "the paired bootstrap, which resamples test identities and says nothing about "
        "another training.",
    ]
    if report.table.layout != "self":
        lines += [
            "",
            "Eq. 2 is `yes` where the interval of M(new, old) - M(old, old) lies above "
            "zero, `no` where it lies below, else `undecided`. M(new, mixed): a seeded "
            "half of the gallery's identities is embedded by the new model, as "
            "identities that came after the update would be. `cosine` is the mean "
            "cosine of a query's new and old embedding. The gain is undefined "
            f"(`{_NOTHING}`) where M(new, old) is not above M(old, old).",
        ]
    lines += [
        "",
        "Width, steps, scale, margin, learning rate and lambda were chosen on the "
        "validation characters ([lambda](lambda.md)); what was not searched is said in "
        "[experiments](../experiments.md). No test number was used to choose anything.",
    ]
    return lines


def _rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in body]


def _number(value: float) -> str:
    return f"{value:.4f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _mean(
    values: Mapping[int, Measured],
    what: Callable[[Measured], float | None],
    written: Callable[[float], str] = _number,
) -> str:
    """The mean of the seeds that have a value, and the lowest and highest of them."""
    numbers = [n for n in (what(m) for m in values.values()) if n is not None]
    if not numbers:
        return _NOTHING
    mean = written(sum(numbers) / len(numbers))
    if len(numbers) == 1:
        return mean if len(values) == 1 else f"{mean} (1 of {len(values)} seeds)"
    seeds = "" if len(numbers) == len(values) else f"; {len(numbers)} of {len(values)}"
    return f"{mean} ({written(min(numbers))} to {written(max(numbers))}{seeds})"


def _answers(values: Iterable[Measured]) -> str:
    answers = [m.answer for m in values]
    return ", ".join(
        f"{answer} {answers.count(answer)} of {len(answers)}"
        for answer in ("yes", "undecided", "no")
        if answer in answers
    )


def _difference(value: float, interval: Interval) -> str:
    return f"{value:+.4f} [{interval[0]:+.4f}, {interval[1]:+.4f}]"


def _gain(measured: Measured) -> str:
    if measured.gain is None or measured.gain_interval is None:
        return _NOTHING
    low, high = measured.gain_interval
    return f"{_percent(measured.gain)} [{_percent(low)}, {_percent(high)}]"


def _share_below(measured: Measured) -> float | None:
    if measured.paragon is None:
        return None
    return 1 - measured.new_new / measured.paragon


def _self_difference(measured: Measured) -> str:
    if measured.paragon is None or measured.self_interval is None:
        return _NOTHING
    return _difference(measured.new_new - measured.paragon, measured.self_interval)

"""How numbers are laid out, on numbers made up so that a reader can check them."""

import dataclasses
import json

import pytest

from keras_bct.experiments.bct.measured import Measured
from keras_bct.experiments.bct.report import Report, to_json
from keras_bct.experiments.bct.report_markdown import to_markdown
from keras_bct.experiments.bct.table import Claim, Table

METRIC = "retrieval/mAP"


def measured(old_old: float, new_old: float, low: float, high: float) -> Measured:
    """Paragon at 0.9; the gain is (new_old - old_old) / (0.9 - old_old) by hand."""
    gain = (new_old - old_old) / (0.9 - old_old) if new_old > old_old else None
    return Measured(
        old_old=old_old,
        new_old=new_old,
        difference_interval=(low, high),
        new_mixed=0.7,
        new_new=0.882,
        agreement=0.8,
        paragon=0.9,
        self_interval=(-0.03, -0.01),
        gain=gain,
        gain_interval=None if gain is None else (0.1, 0.4),
        gain_undefined="" if gain is not None else "not above",
    )


def report(layout: str = "criterion", titles: tuple[str, ...] = ("beta",)) -> Report:
    # Seed 0: gain 0.1 / 0.4 = 25 %. Seed 1: gain 0.2 / 0.4 = 50 %.
    of_seeds = {
        0: measured(0.5, 0.6, 0.05, 0.15),
        1: measured(0.5, 0.7, 0.15, 0.25),
    }
    return Report(
        table=Table(
            name="table1",
            title="A title",
            about="About it.",
            rows=lambda catalogue: (),
            layout=layout,
            paper={("beta", METRIC): "holds"},
        ),
        metrics=(METRIC,),
        results={
            seed: {title: {METRIC: values} for title in titles}
            for seed, values in of_seeds.items()
        },
        titles=titles,
        seeds=2,
        provenance={"protocol": "kanji-test"},
    )


def row(markdown: str, start: str) -> list[str]:
    """The cells of the first table row that begins so."""
    line = next(line for line in markdown.splitlines() if line.startswith(start))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_gives_the_mean_and_the_range_of_the_seeds() -> None:
    assert row(to_markdown(report()), "| beta |") == [
        "beta",
        "0.5000 (0.5000 to 0.5000)",
        "0.6500 (0.6000 to 0.7000)",
        "0.7000 (0.7000 to 0.7000)",
        "0.8820 (0.8820 to 0.8820)",
        "0.8000 (0.8000 to 0.8000)",
        "37.5 % (25.0 % to 50.0 %)",
        "yes 2 of 2",
        "holds",
    ]


def test_each_seed_has_its_interval() -> None:
    assert row(to_markdown(report()), "| beta | 1 |") == [
        "beta",
        "1",
        "+0.2000 [+0.1500, +0.2500]",
        "yes",
        "50.0 % [10.0 %, 40.0 %]",
    ]


def test_a_self_test_stands_beside_the_paragon() -> None:
    # 0.882 is 2 % below 0.9.
    cells = row(to_markdown(report("self")), "| beta |")
    assert cells == [
        "beta",
        "0.8820 (0.8820 to 0.8820)",
        "2.0 % (2.0 % to 2.0 %)",
        "holds",
    ]
    assert row(to_markdown(report("self")), "| beta | 0 |")[3] == (
        "-0.0180 [-0.0300, -0.0100]"
    )


def test_a_chain_has_six_cells() -> None:
    titles = ("phi2 against phi1", "phi3 against phi1", "phi3 against phi2")
    markdown = to_markdown(report("chain", titles))
    assert row(markdown, "| phi1 |")[1:] == ["0.5000 (0.5000 to 0.5000)", "-", "-"]
    assert row(markdown, "| phi2 |")[1:3] == [
        "0.6500 (0.6000 to 0.7000)",
        "0.8820 (0.8820 to 0.8820)",
    ]
    assert row(markdown, "| phi3 |")[1:] == [
        "0.6500 (0.6000 to 0.7000)",
        "0.6500 (0.6000 to 0.7000)",
        "0.8820 (0.8820 to 0.8820)",
    ]


@pytest.mark.parametrize(
    ("interval", "answer"),
    [((0.01, 0.2), "yes"), ((-0.01, 0.2), "undecided"), ((-0.2, -0.01), "no")],
)
def test_equation_2_is_read_from_the_interval(
    interval: tuple[float, float], answer: str
) -> None:
    assert measured(0.5, 0.6, *interval).answer == answer


def test_a_gain_that_one_seed_lacks_is_the_others_and_says_so() -> None:
    results = {
        0: {"l2": {METRIC: measured(0.5, 0.6, 0.05, 0.15)}},
        1: {"l2": {METRIC: measured(0.5, 0.4, -0.15, -0.05)}},
    }
    cells = row(
        to_markdown(
            Report(
                table=report().table,
                metrics=(METRIC,),
                results=results,
                titles=("l2",),
                seeds=2,
                provenance={},
            )
        ),
        "| l2 |",
    )
    assert cells[6:8] == ["25.0 % (1 of 2 seeds)", "yes 1 of 2, no 1 of 2"]


def test_a_claim_names_the_seeds_that_hold_it() -> None:
    # The gain is 25 % for seed 0 and 50 % for seed 1; no seed has lwf.
    claims = (
        Claim("a third", ("beta",), lambda rows: rows["beta"][METRIC].gain > 1 / 3),
        Claim("more than lwf", ("beta", "lwf"), lambda rows: True),
    )
    table = dataclasses.replace(report().table, claims=claims)
    markdown = to_markdown(dataclasses.replace(report(), table=table))
    assert row(markdown, "| a third |") == ["a third", "1", "0"]
    assert row(markdown, "| more than lwf |") == ["more than lwf", "-", "-"]


def test_what_is_missing_is_said() -> None:
    complete = report(titles=("beta", "lwf"))
    results = {seed: dict(rows) for seed, rows in complete.results.items()}
    del results[1]["lwf"]
    partial = Report(
        table=complete.table,
        metrics=complete.metrics,
        results=results,
        titles=complete.titles,
        seeds=3,
        provenance={},
    )
    markdown = to_markdown(partial)
    assert "**3 of 6 rows are in**" in markdown
    assert "- seed 0: complete" in markdown
    assert "- seed 1: missing lwf" in markdown
    assert "- seed 2: missing beta; lwf" in markdown


def test_json_has_every_number_and_the_provenance() -> None:
    content = json.loads(to_json(report()))
    assert content["provenance"] == {"protocol": "kanji-test"}
    assert content["seeds_asked_for"] == 2
    values = content["seeds"]["1"]["beta"][METRIC]
    assert values["new_old"] == 0.7
    assert values["difference_interval"] == [0.15, 0.25]
    assert values["answer"] == "yes"

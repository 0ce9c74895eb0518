"""What docs/experiments.md shows runs, and what docs/results holds is said truly."""

import json
import re
from pathlib import Path

import pytest

from keras_bct.experiments import TABLES, Catalogue
from keras_bct.experiments.command_line import run

DOCS = Path(__file__).parents[3] / "docs"
MANUAL = (DOCS / "experiments.md").read_text(encoding="utf-8")


def test_its_code_runs() -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"(?ms)^```python\n(.*?)^```", MANUAL):
        exec(block, names)
    assert names["new"].predecessor == names["old"]


def test_its_options_are_those_of_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        run(["--help"])
    known = re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)
    assert set(re.findall(r"--[a-z][a-z-]+", MANUAL)) <= set(known)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_committed_numbers_are_of_the_recipes_as_they_are_now(table) -> None:
    content = json.loads((DOCS / f"results/{table.name}.json").read_text("utf-8"))
    data = content["provenance"]["training pictures, SHA-256"]
    digests = {
        (seed, row.title): row.new.digest(data)
        for seed in range(content["seeds_asked_for"])
        for row in table.rows(Catalogue(seed))
    }
    committed = {
        (int(seed), title): trainings["new"]
        for seed, rows in content["trainings"].items()
        for title, trainings in rows.items()
    }
    assert committed.items() <= digests.items()

"""What docs/adapters.md says of speed is what was measured."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_figures_are_those_of_the_committed_run():
    figures = json.loads((DOCS / "results/alignment.json").read_text("utf-8"))
    text = (DOCS / "adapters.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| (.+) \| ([0-9.]+) \| at most ([0-9.]+) \|$", text)

    assert [name for name, _, _ in rows] == [figure["name"] for figure in figures]
    for (_, shown, limit), figure in zip(rows, figures, strict=True):
        digits = len(shown.partition(".")[2])
        assert float(shown) == round(figure["ratio"], digits)
        assert float(limit) == figure["limit"]
        assert figure["holds"]

"""docs/evaluation.md names every metric, and its protocol is one."""

import json
import re
from pathlib import Path

import yaml

from keras_bct.evaluation import KNOWN_METRICS, Protocol

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "evaluation.md").read_text(encoding="utf-8")


def test_every_metric_is_described():
    described = TEXT[TEXT.index("| metric |") : TEXT.index("- A query without")]
    for metric in KNOWN_METRICS:
        for name in (
            [metric]
            if "[" not in metric
            else [metric.replace("[,rank=k]", ""), metric.replace("[", "")[:-1]]
        ):
            assert f"`{name}`" in described


def test_the_protocol_shows_the_defaults():
    text = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[1]
    shown = Protocol.from_mapping(yaml.safe_load(text), source="docs/evaluation.md")
    short = Protocol.from_mapping(
        yaml.safe_load(text[: text.index("# From here")]), source="docs/evaluation.md"
    )

    assert shown.to_mapping() == short.to_mapping()


def test_the_ratios_are_those_of_the_committed_run():
    figures = json.loads((DOCS / "results" / "evaluation.json").read_text("utf-8"))
    rows = re.findall(r"\| ([0-9.]+)(?: GiB)? \| at (?:most|least) ([0-9.]+)", TEXT)

    assert len(rows) == len(figures)
    for (ratio, limit), figure in zip(rows, figures, strict=True):
        digits = len(ratio.partition(".")[2])
        assert float(ratio) == round(figure["ratio"], digits)
        assert float(limit) == figure["limit"]
        assert figure["holds"]

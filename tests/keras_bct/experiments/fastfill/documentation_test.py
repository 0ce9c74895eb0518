"""What docs/alignment.md says of the maps is what was measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[4] / "docs"
SETTINGS = ("seen classes, unseen typefaces", "unseen classes, unseen typefaces")
TITLES = {
    "BCT (the new model trained again); random": "BCT, random",
    "RACT (likewise); entropy": "RACT, entropy",
    "Procrustes; random": "Procrustes, random",
    "Ridge; random": "Ridge, random",
    "residual MLP; random": "residual MLP, random",
    "lambda-orthogonal, backward; class mean": "lambda, backward, class mean",
    "lambda-orthogonal, forward; class mean": "lambda, forward, class mean",
    "FCT; random": "FCT, random",
    "FastFill, mean; sigma": "FastFill (mean), sigma",
    "FastFill, sum; sigma": "FastFill (sum), sigma",
    "ours; sigma": "ours, sigma",
}


@pytest.fixture(scope="module")
def seeds():
    text = (DOCS / "results/fastfill.json").read_text("utf-8")
    return json.loads(text)["seeds"].values()


def rows():
    text = (DOCS / "alignment.md").read_text("utf-8")
    return re.findall(r"(?m)^\| (.+;.+?) ((?:\| [0-9.]+ ){6})\|$", text)


def test_every_row_is_known():
    assert [name for name, _ in rows()] == list(TITLES)


@pytest.mark.parametrize(("name", "shown"), rows())
def test_a_row_is_the_mean_of_three_seeds(seeds, name, shown):
    assert len(seeds) == 3
    measured = []
    for setting in SETTINGS:
        curves = [
            seed[setting][TITLES[name]]["metrics"]["retrieval/mAP"] for seed in seeds
        ]
        measured += [
            np.mean([curve["points"][0] for curve in curves]),
            np.mean([curve["area"] for curve in curves]),
            np.mean([curve["normalised_area"] for curve in curves]),
        ]
    for number, value in zip(shown.strip("| ").split(" | "), measured, strict=True):
        digits = len(number.partition(".")[2])
        assert float(number) == round(float(value), digits)

"""The Python of README.md and of the guides runs as it stands.

The blocks of a page are one program. README.md's commands run in
tests/registry/walk_test.py.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from keras_bct.classifier import Classifier
from keras_bct.training.recipe import (
    AUGMENTATIONS,
    GLYPH_NETWORKS,
    METHODS,
    OLD_ROWS,
    PRECISIONS,
    RESNETS,
    STRATEGIES,
    Recipe,
)

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def run_page(tmp_path):
    """Runs the Python of a page in an empty folder and gives what it printed."""

    def run(page):
        text = (ROOT / page).read_text(encoding="utf-8")
        program = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", text))
        ran = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        return program, ran.stdout

    return run


def test_readme(run_page, tmp_path):
    old = Classifier("cosface", np.eye(8, 16), tuple("abcdefgh"), scale=24, margin=0.3)
    old.save(tmp_path / "v1" / "assets.extra")
    program, printed = run_page("README.md")
    assert len(program.splitlines()) <= 15
    assert "old_loss" in printed


@pytest.mark.slow
def test_training_guide_makes_two_versions(run_page, tmp_path):
    run_page("docs/training.md")
    for version in ("1", "2"):
        assert (tmp_path / "versions" / version / "saved_model.pb").is_file()


def test_training_guide_names_every_field_and_choice_of_a_recipe():
    text = (ROOT / "docs/training.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"(?m)^\| section or field .*\n(?:\|.*\n)+", text)
    named = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", table))))
    fields = {field.name for field in dataclasses.fields(Recipe)}
    choices = {*METHODS, *GLYPH_NETWORKS, *RESNETS, *OLD_ROWS, *AUGMENTATIONS}
    assert fields | choices | {*PRECISIONS, *STRATEGIES} <= named


@pytest.mark.slow
def test_guide_to_the_adapters(run_page):
    run_page("docs/adapters.md")

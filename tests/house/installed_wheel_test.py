"""The wheel, installed into an empty environment, runs the README's example."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uv

from keras_bct.classifier import Classifier

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


def run_uv(*arguments):
    ran = subprocess.run(
        [uv.find_uv_bin(), *map(str, arguments), "--no-python-downloads"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Failed to fetch" in ran.stderr:
        pytest.skip("the packages are not reached from here")
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def python(wheel_file, tmp_path_factory):
    """The interpreter of an environment with the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("environment")
    run_uv("venv", "--clear", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    pins = ("--constraint", ROOT / "requirements.txt")
    run_uv("pip", "install", "--python", python, *pins, wheel_file)
    return python


def run(python, *arguments, folder):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_runs_the_readmes_example(python, tmp_path):
    old = Classifier("cosface", np.eye(8, 16), tuple("abcdefgh"), scale=24, margin=0.3)
    old.save(tmp_path / "v1" / "assets.extra")
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", page))

    ran = run(python, "-c", program, folder=tmp_path)

    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "old_loss" in ran.stdout


def test_keeps_a_registry_without_scann_and_says_how_to_get_it(python, tmp_path):
    ran = run(python, "-m", "registry", "--root", "r", "init", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr

    ran = run(
        python,
        "-c",
        "from registry.indices.scann_library import import_scann; import_scann()",
        folder=tmp_path,
    )
    assert "pip install 'keras-bct[search]'" in ran.stderr

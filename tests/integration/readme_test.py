"""README.md's Python runs as it stands; its commands: tests/registry/walk_test.py."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np

from keras_bct.classifier import Classifier

ROOT = pathlib.Path(__file__).parents[2]


def test_the_python_of_the_readme_runs_as_it_stands(tmp_path):
    (snippet,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert len(snippet.splitlines()) <= 15
    old = Classifier("cosface", np.eye(8, 16), tuple("abcdefgh"), scale=24, margin=0.3)
    old.save(tmp_path / "v1" / "assets.extra")
    ran = subprocess.run(
        [sys.executable, "-c", snippet],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "old_loss" in ran.stdout

"""The wheel that `make dist` would build of this checkout."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("keras_bct", "registry", "tfx_pipeline")


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory):
    """The path of the wheel, built from a copy: setuptools writes beside its source."""
    tree = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tree / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    subprocess.run(
        [sys.executable, "-c", build], cwd=tree, check=True, capture_output=True
    )
    (path,) = tree.glob("*.whl")
    return path

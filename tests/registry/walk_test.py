"""Runs the walks of README.md and docs/registry.md and compares what they print."""

import doctest
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from registry.cli.main import build_parser, main

ROOT = Path(__file__).parents[2]


def steps(manual):
    """The commands of the manual with what they should print."""
    text = (ROOT / manual).read_text()
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for step in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, printed = step.partition("\n")
            yield command, printed


@pytest.fixture
def exports(toy_model, toy_protocol, pictures, tmp_path):
    """The folder that the walks begin in."""
    for name in ("old", "independent", "new", "turned"):
        shutil.copytree(toy_model(name), tmp_path / "exports" / name)
    (tmp_path / "forget.txt").write_text("".join(f"{n}\n" for n in pictures(2).ids[:2]))
    (tmp_path / "query.png").write_bytes(pictures(1).images[4])
    return tmp_path


@pytest.fixture
def fit_ridge(toy_embeddings, pictures):
    """Runs the Python of docs/registry.md that saves an adapter in that folder."""
    text = (ROOT / "docs/registry.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (program,) = (block for block in blocks if "exports/ridge" in block)

    def fit():
        by_old, by_turned = (
            toy_embeddings(name, pictures(3)).astype(np.float32)
            for name in ("old", "turned")
        )
        exec(program, {"by_old": by_old, "by_turned": by_turned})

    return fit


@pytest.mark.parametrize("manual", ["README.md", "docs/registry.md"])
def test_the_commands_print_what_the_manual_says(
    manual, exports, fit_ridge, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(exports)
    fit_ridge()
    monkeypatch.setenv("REGISTRY_ROOT", str(tmp_path / "root"))
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, expected in steps(manual):
        capsys.readouterr()
        code = main(build_parser().parse_args(shlex.split(command)[1:]))
        printed = capsys.readouterr()
        # TensorFlow and progress bars write to standard error as they like.
        said = printed.out + (printed.err if code else "")
        if code:
            said += f"[exit code {code}]\n"
        assert checker.check_output(expected, said, flags), (
            f"$ {command}\nexpected:\n{expected}\nprinted:\n{said}"
        )

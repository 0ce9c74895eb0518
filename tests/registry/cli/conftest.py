"""Runs the command line as a user does, in a process of its own or in this one."""

import json
import subprocess
import sys

import pytest

from registry.cli.main import build_parser, main


class Result:
    """What a command printed, and its exit code."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def root(registry):
    return registry.root.url


@pytest.fixture
def run(root, capsys):
    """Runs a command in this process, on the test's registry."""

    def run(*argv):
        capsys.readouterr()
        try:
            code = main(build_parser().parse_args(["--root", root, *map(str, argv)]))
        except SystemExit as left:
            code = left.code
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def spawn(environment):
    """Runs `python -m registry` in a process of its own."""

    def spawn(*argv, **variables):
        done = subprocess.run(
            [sys.executable, "-m", "registry", *map(str, argv)],
            env={**environment, **variables},
            capture_output=True,
            text=True,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return spawn


@pytest.fixture
def promoted(registry, make_model, protocol):
    """Two versions; `production` stands at the first."""
    registry.register("glyphs", make_model("a"))
    registry.register("glyphs", make_model("b"), predecessor="glyphs/1")
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    return registry

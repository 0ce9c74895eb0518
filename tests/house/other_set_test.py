"""`.ci/other_set` tests the set that this machine has not, and leaves nothing behind.

The programs that it calls are stand-ins that say how they were called.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MIRROR = "http://mirror.test/debian/"


@pytest.fixture
def program(tmp_path):
    """Writes a stand-in that logs its name and arguments, and then does as told."""
    (tmp_path / "bin").mkdir()

    def write(path, does):
        says = f'echo "$0" "$@" INTERPRETER="$INTERPRETER" >>"{tmp_path}/log"'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{says}\n{does}\n")
        path.chmod(0o755)

    return write


@pytest.fixture
def run(tmp_path, program):
    """Runs it in a checkout whose own Python has the status 0 if it is Python 3.10."""
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    for name in (
        "bash",
        "cp",
        "dirname",
        "env",
        "head",
        "mkdir",
        "mktemp",
        "rm",
        "sort",
    ):
        (programs / name).symlink_to(shutil.which(name))
    program(programs / "apt-get", f"echo {MIRROR}")
    program(programs / "debootstrap", "")
    program(programs / "git", 'mkdir "${@: -1}"')
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "other_set", checkout / ".ci")

    def run(own_python, tests):
        program(checkout / ".venv" / "bin" / "python", f"exit {own_python}")
        program(programs / "unshare", f"exit {tests}")
        program(programs / "make", f"exit {tests}")
        done = subprocess.run(
            [checkout / ".ci" / "other_set", "tests/setup", "-x"],
            env={"PATH": str(programs), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        log = (tmp_path / "log").read_text().splitlines()
        return done, [line.removeprefix(f"{programs}/") for line in log]

    return run


@pytest.mark.parametrize("tests", [0, 2])
def test_beside_python_3_10_they_run_in_a_debian_13_from_this_machines_mirror(
    run, tests
):
    done, log = run(own_python=0, tests=tests)
    assert done.returncode == tests, done.stderr
    made = next(line for line in log if line.startswith("debootstrap")).split()
    folder = Path(made[made.index("trixie") + 1])
    assert made[made.index("trixie") + 2] == MIRROR
    entered = next(line for line in log if line.startswith("unshare"))
    assert f"--root={folder} " in entered
    assert entered.endswith("other_set tests/setup -x INTERPRETER=")
    assert not folder.exists()


@pytest.mark.parametrize("tests", [0, 2])
@pytest.mark.parametrize("place", ["bin", ".pyenv/versions/3.10.13/bin"])
def test_beside_a_newer_python_they_run_with_the_3_10_that_is_found(
    run, program, tmp_path, place, tests
):
    python = tmp_path / place / "python3.10"
    program(python, "")
    done, log = run(own_python=1, tests=tests)
    assert done.returncode == tests, done.stderr
    assert f"make versions INTERPRETER={python}" in log
    assert (f"make test TESTS=tests/setup -x INTERPRETER={python}" in log) == (
        not tests
    )
    clone = next(line for line in log if line.startswith("git")).split()[-2]
    assert not Path(clone).parent.exists()


def test_without_one_it_is_said_that_nothing_was_tested(run):
    done, log = run(own_python=1, tests=2)
    assert done.returncode == 0, done.stderr
    assert "THE SET OF PYTHON 3.10 WAS NOT TESTED" in done.stdout
    assert not any(line.startswith("make") for line in log)

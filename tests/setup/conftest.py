"""Pythons that only say who they are, so that choosing among them costs nothing."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import interpreter
import pytest

# Answers what setup/ asks, makes an empty environment with itself and an uv in it,
# and writes every install to a log.
_SCRIPT = """#!/bin/sh
PATH=/usr/bin:/bin
bin=$(dirname "$0")
case "$1" in
  -c) case "$2" in *ensurepip*) exit {ensurepip} ;; esac
      echo '{answer}' ;;
  pip) echo "uv $*" >> "{log}" ;;
esac
case "$2" in
  venv) mkdir -p "$3/bin" && touch "$3/pyvenv.cfg" && cp "$0" "$3/bin/python"
        echo "venv" >> "{log}" ;;
  pip) cp "$0" "$bin/uv"; echo "pip $4 $5" >> "{log}" ;;
esac
"""

MakePython = Callable[..., Path]


@pytest.fixture
def installs(tmp_path: Path) -> Path:
    return tmp_path / "installs.log"


@pytest.fixture
def make_python(tmp_path: Path, installs: Path) -> MakePython:
    """Returns a function that writes a Python of some version to some place."""
    headers = tmp_path / "include"
    headers.mkdir()
    (headers / "Python.h").touch()

    def make(place: Path, version: str, *, name=None, ensurepip=True, **answer) -> Path:
        path = place / (name or f"python{version.rpartition('.')[0]}")
        place.mkdir(parents=True, exist_ok=True)
        said = {
            "base": str(path),
            "cpython": True,
            "bits": 64,
            "free_threaded": False,
            "headers": str(headers),
            "version": [int(part) for part in version.split(".")],
        }
        script = _SCRIPT.format(
            ensurepip=0 if ensurepip else 1,
            answer=json.dumps(said | answer),
            log=installs,
        )
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it: its `bin` is on PATH, its `pyenv` is pyenv's."""
    for tool in ("cc", "c++"):
        path = tmp_path / "bin" / tool
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def glibc(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Returns a function that gives the machine another glibc."""

    def set_version(major: int, minor: int) -> None:
        monkeypatch.setattr(interpreter, "glibc_version", lambda: (major, minor))

    return set_version

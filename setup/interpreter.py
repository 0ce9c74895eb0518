"""Which Python fits this machine, and where it was found.

TFX decides it. Its wheels for Python 3.11 to 3.13 are built against glibc 2.39, and
the last ones for an older glibc are for Python 3.10. A requirement's marker cannot see
glibc, so the choice is made here, before anything is installed.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEWER_GLIBC = (2, 39)
OLDER_SET = ((3, 10),)
# Newest first; 3.10 fits everywhere, with the older set.
NEWER_SET = ((3, 13), (3, 12), (3, 11), (3, 10))

_PROBE = """
import json, platform, struct, sys, sysconfig
print(json.dumps({
    "base": getattr(sys, "_base_executable", None) or sys.executable,
    "cpython": platform.python_implementation() == "CPython",
    "bits": 8 * struct.calcsize("P"),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "headers": sysconfig.get_paths()["include"],
    "version": sys.version_info[:3],
}))
"""


class NoInterpreterError(Exception):
    """No Python on this machine will do; the message names what to install."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that answered and fits.

    Attributes:
        path: Its own executable, never a virtual environment's or a shim's.
        version: Major, minor and micro.
        source: Where it was found, in words: "on PATH", "among pyenv's versions".
        reason: Why these Python versions and no others, in words.
    """

    path: str
    version: tuple[int, int, int]
    source: str
    reason: str

    @property
    def takes_older_set(self) -> bool:
        """True where requirements.txt gives it the set for an older glibc."""
        return self.version[:2] in OLDER_SET


@dataclass(frozen=True)
class _Answer:
    """What a Python says of itself when asked."""

    base: str
    cpython: bool
    bits: int
    free_threaded: bool
    headers: str
    version: list[int]


def glibc_version() -> tuple[int, int]:
    """Returns this machine's glibc version.

    Raises:
        NoInterpreterError: The system is not Linux on x86-64 with glibc.
    """
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError):
        name = version = ""
    if name != "glibc" or platform.machine() != "x86_64":
        raise NoInterpreterError(
            "TFX and ScaNN have wheels for Linux with glibc on x86_64 only; this is "
            f"{platform.system()} on {platform.machine()}"
            f"{'' if name == 'glibc' else ' without glibc'}. Use a Debian or Ubuntu "
            "machine or container."
        )
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def accepted_versions(glibc: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Returns the Python versions that fit a glibc, the best first."""
    return NEWER_SET if glibc >= NEWER_GLIBC else OLDER_SET


def find(named: str | None = None) -> Interpreter:
    """Finds the Python to make the environment with.

    Args:
        named: The one to use if it fits, a path or a name on PATH; else the search
            goes over PATH, pyenv's versions and uv.

    Raises:
        NoInterpreterError: None fits; the message lists those seen and what to do.
    """
    glibc = glibc_version()
    accepted = accepted_versions(glibc)
    reason = _reason(glibc)
    places = (
        [(shutil.which(named) or named, "named by INTERPRETER")]
        if named
        else _candidates(accepted)
    )
    rejected: dict[str, str] = {}
    asked: set[str] = set()
    for path, source in places:
        # /bin may be /usr/bin, and python3 the python3.13 that was asked before.
        file = os.path.realpath(path)
        if file in asked:
            continue
        asked.add(file)
        answer = _probe(path)
        if answer is None:
            rejected[path] = "does not answer"  # As a shim of a version not chosen.
            continue
        objection = _objection(answer, accepted)
        if objection is None:
            major, minor, micro = answer.version
            return Interpreter(answer.base, (major, minor, micro), source, reason)
        rejected[answer.base] = objection
    raise NoInterpreterError(_advice(accepted, reason, rejected))


def _candidates(accepted: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, str]]:
    """Yields (path, source) of every Python worth asking, the best place first."""
    names = [f"python{major}.{minor}" for major, minor in accepted]
    directories = [Path(entry) for entry in os.get_exec_path() if entry]
    for name in [*names, "python3", "python"]:
        for directory in directories:
            if os.access(directory / name, os.X_OK):
                yield str(directory / name), "on PATH"
    for name in names:
        for root in _pyenv_roots():
            for path in sorted(root.glob(f"versions/*/bin/{name}"), reverse=True):
                yield str(path), "among pyenv's versions"
    uv = shutil.which("uv")
    if uv is None:
        return
    for name in names:
        # --system: not the virtual environment that we are about to replace.
        command = [uv, "python", "find", "--system", "--no-python-downloads", name]
        found = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False
        )
        if found.returncode == 0:
            yield found.stdout.strip(), "through uv"


def _pyenv_roots() -> list[Path]:
    named = os.environ.get("PYENV_ROOT")
    return [Path(root) for root in (named, Path.home() / ".pyenv") if root]


def _probe(path: str) -> _Answer | None:
    """Asks a Python about itself; None where it does not answer, as a shim may."""
    try:
        answer = subprocess.run(
            [path, "-c", _PROBE],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=True,
        )
        return _Answer(**json.loads(answer.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _objection(answer: _Answer, accepted: tuple[tuple[int, int], ...]) -> str | None:
    """Says why a Python will not do, or None if it will."""
    major, minor, micro = answer.version
    if (major, minor) not in accepted:
        return f"is Python {major}.{minor}.{micro}"
    if not answer.cpython or answer.bits != 64 or answer.free_threaded:
        return "is no ordinary 64-bit CPython, for which alone there are wheels"
    if not _makes_environments(answer.base):
        return f"cannot make a virtual environment: install python{major}.{minor}-venv"
    # Some of TFX's dependencies come as sources with C in them.
    if not Path(answer.headers, "Python.h").exists():
        return f"has no header files: install python{major}.{minor}-dev"
    return None


def _makes_environments(path: str) -> bool:
    command = [path, "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _reason(glibc: tuple[int, int]) -> str:
    have = f"glibc {glibc[0]}.{glibc[1]}"
    need = f"{NEWER_GLIBC[0]}.{NEWER_GLIBC[1]}"
    if glibc >= NEWER_GLIBC:
        return f"{have} is new enough (TFX's current wheels need {need})"
    return f"{have} is older than {need}, which TFX's wheels for Python 3.11+ need"


def _advice(
    accepted: tuple[tuple[int, int], ...], reason: str, rejected: dict[str, str]
) -> str:
    wanted = ", ".join(f"{major}.{minor}" for major, minor in accepted)
    best = f"{accepted[0][0]}.{accepted[0][1]}"
    seen = [f"  {path} {objection}" for path, objection in rejected.items()]
    debian = f"  apt-get install python{best} python{best}-venv python{best}-dev"
    return "\n".join(
        [
            f"No Python here will do. Expected Python {wanted}: {reason}.",
            *(seen or ["There is none on PATH, among pyenv's versions or with uv."]),
            "Install one in any of these ways, then run make again:",
            *([debian] if accepted == NEWER_SET else []),
            f"  uv python install {best}    (python3 -m pip install uv brings uv)",
            f"  pyenv install {best}",
            f"or name one: make test INTERPRETER=/path/to/python{best}",
        ]
    )


if __name__ == "__main__":
    try:
        print(find(*sys.argv[1:2]))
    except NoInterpreterError as error:
        sys.exit(str(error))

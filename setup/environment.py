"""Bring `.venv` in line with requirements.txt: `make` runs this before anything else.

    python3 setup/environment.py [--interpreter PYTHON]

Whatever Python 3.8 or newer starts it; the one that fits is chosen by interpreter.py.
A stamp, written last, holds the digest of what was installed. With the right stamp
nothing is done; with another one, what changed is installed; without one (an install
that was cut off) the environment is made anew.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import interpreter

ROOT = Path(__file__).resolve().parent.parent


class SetupError(Exception):
    """The environment cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Stamp:
    """What a finished install leaves behind in `.venv`.

    Attributes:
        digest: Of the files that decide what is installed.
        interpreter: The Python that it was made with.
        directory: Where it was made. Its scripts name it by its full path, so that
            one that was moved or copied is broken.
        chosen: The sentence that says what was chosen and why.
    """

    digest: str
    interpreter: str
    directory: str
    chosen: str


@dataclass(frozen=True)
class Environment:
    """The virtual environment of one checkout.

    Attributes:
        root: The checkout: `requirements.txt` and `pyproject.toml` lie in it, and
            `.venv` comes to lie in it.
    """

    root: Path

    @property
    def directory(self) -> Path:
        """The folder of the virtual environment."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The environment's own interpreter."""
        return self.directory / "bin" / "python"

    @property
    def requirements(self) -> Path:
        """The file of pins."""
        return self.root / "requirements.txt"

    @property
    def stamp(self) -> Path:
        """The file that says that an install was finished."""
        return self.directory / "environment.json"

    def digest(self) -> str:
        """Returns the digest of the files that decide what is installed."""
        content = hashlib.sha256()
        for part in (self.requirements, self.root / "pyproject.toml"):
            content.update(part.read_bytes())
        return content.hexdigest()

    def read_stamp(self) -> Stamp | None:
        """Returns the stamp, or None where no install was ever finished here."""
        try:
            stamp = Stamp(**json.loads(self.stamp.read_text(encoding="utf-8")))
        except (OSError, TypeError, ValueError):
            return None
        moved = stamp.directory != str(self.directory)
        # The interpreter that it was made with may have been removed since.
        return stamp if self.python.exists() and not moved else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds off a second make while one is installing."""
        with self.requirements.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def prepare(self, named: str | None = None) -> str:
        """Makes the environment right and returns the line that says what it is.

        Args:
            named: The Python to make it with; None to search for one.
        """
        stamp = self.read_stamp()
        current = stamp is not None and stamp.digest == self.digest()
        if stamp and current and not named:
            return f"{stamp.chosen} (nothing to install)"
        started = time.monotonic()
        chosen = interpreter.find(named)
        same_python = stamp is not None and stamp.interpreter == chosen.path
        if stamp and current and same_python:
            return f"{stamp.chosen} (nothing to install)"
        sentence = self._describe(chosen)
        _say(sentence)
        _require_compiler()
        if same_python:
            _say("requirements.txt or pyproject.toml changed; installing what is new")
            self.stamp.unlink()
        else:
            self._make_anew(chosen)
        self._install(chosen)
        self._write_stamp(
            Stamp(self.digest(), chosen.path, str(self.directory), sentence)
        )
        return f"installed in {time.monotonic() - started:.0f} s"

    def _describe(self, chosen: interpreter.Interpreter) -> str:
        tensorflow = self.pinned("tensorflow", chosen.takes_older_set)
        tfx = self.pinned("tfx", chosen.takes_older_set)
        version = ".".join(map(str, chosen.version))
        return (
            f"Python {version} {chosen.source} ({chosen.path}) with TensorFlow "
            f"{tensorflow} and TFX {tfx}, because {chosen.reason}"
        )

    def pinned(self, name: str, older: bool) -> str:
        """Returns the version that requirements.txt pins for one of the two sets.

        Args:
            name: The package.
            older: True for Python 3.10, False for 3.11 and newer.
        """
        lines = re.findall(
            rf"^{re.escape(name)}==(\S+)(.*)$",
            self.requirements.read_text(encoding="utf-8"),
            re.M,
        )
        for version, marker in lines:
            if ("< '3.11'" in marker) == older or "'3.11'" not in marker:
                return str(version)
        raise SetupError(f"requirements.txt pins no {name}. Run: make lock")

    def _make_anew(self, chosen: interpreter.Interpreter) -> None:
        if self.directory.exists():
            if not (self.directory / "pyvenv.cfg").exists():
                raise SetupError(
                    f"{self.directory} exists and is no virtual environment. Move it "
                    "away and run make again."
                )
            _say(".venv is unfinished, was moved or has another Python; starting anew")
            shutil.rmtree(self.directory)
        subprocess.run([chosen.path, "-m", "venv", str(self.directory)], check=True)

    def _install(self, chosen: interpreter.Interpreter) -> None:
        # pip warns of every find-links folder that a machine's settings name and the
        # machine does not have; with -qq it speaks up only when it fails.
        pip = [str(self.python), "-m", "pip", "install", "-qq"]
        uv = f"uv=={self.pinned('uv', chosen.takes_older_set)}"
        subprocess.run([*pip, uv], check=True)
        _say(f"installing requirements.txt with {uv} ...")
        self._uv("--requirement", str(self.requirements))
        self._uv("--no-deps", "--no-build-isolation", "--editable", str(self.root))

    def _uv(self, *arguments: str) -> None:
        command = [str(self.directory / "bin" / "uv"), "pip", "install"]
        if not sys.stderr.isatty():
            # Without a terminal there is no bar to draw, only 300 names to list.
            command.append("--quiet")
        environment = dict(os.environ, VIRTUAL_ENV=str(self.directory))
        # TensorFlow's wheel is large, and uv gives up after 30 s without an answer.
        environment.setdefault("UV_HTTP_TIMEOUT", "300")
        subprocess.run([*command, *arguments], check=True, env=environment)

    def _write_stamp(self, stamp: Stamp) -> None:
        partial = self.stamp.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(stamp), indent=2) + "\n", encoding="utf-8")
        os.replace(partial, self.stamp)


def _require_compiler() -> None:
    missing = [tool for tool in ("cc", "c++") if shutil.which(tool) is None]
    if missing:
        raise SetupError(
            f"No {' and no '.join(missing)} on PATH, and some of TFX's dependencies "
            "come as sources. Install a compiler: apt-get install gcc g++"
        )


def _say(line: str) -> None:
    print(f"environment: {line}", flush=True)


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--interpreter", metavar="PYTHON", help="use this Python")
    arguments = parser.parse_args()
    environment = Environment(ROOT)
    try:
        with environment.locked():
            _say(environment.prepare(arguments.interpreter))
    except (interpreter.NoInterpreterError, SetupError) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"Failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The software that a result was made with."""

from __future__ import annotations

import importlib.metadata
import platform

_PACKAGES = ("tensorflow", "keras", "numpy")


def software() -> dict[str, str]:
    """Give the versions of Python and of the packages that decide a number."""
    return {
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in _PACKAGES},
    }

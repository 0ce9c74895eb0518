"""ScaNN, imported here and nowhere else."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Any

from registry.errors import UsageError


def import_scann() -> Any:
    """ScaNN with its pybind interface.

    scann 1.4 tries to load an operation for TensorFlow that misses a symbol beside
    TensorFlow 2.21, but works whole when it believes that there is no TensorFlow;
    scann 1.3 needs the TensorFlow that it was built for.

    Raises:
        UsageError: It is not installed.
    """
    if "scann" in sys.modules:
        return sys.modules["scann"]
    try:
        version = importlib.metadata.version("scann")
    except importlib.metadata.PackageNotFoundError:
        raise UsageError(
            "Search indices need ScaNN, which is not installed: "
            "`pip install 'keras-bct[search]'`."
        ) from None
    if tuple(map(int, version.split(".")[:2])) < (1, 4):
        import scann

        return scann
    absent = object()
    saved: Any = sys.modules.get("tensorflow", absent)
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
    try:
        import scann
    finally:
        if saved is absent:
            del sys.modules["tensorflow"]
        else:
            sys.modules["tensorflow"] = saved
    return scann

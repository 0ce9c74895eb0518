"""Backward-compatible training and FastFill for Keras.

Importing this package imports neither TensorFlow nor Keras: each room is imported
when it is first named (`keras_bct.losses`, `keras_bct.evaluation`, ...).
"""

import importlib
from types import ModuleType

__all__ = [
    "adapters",
    "alignment",
    "backfill",
    "classifier",
    "data",
    "evaluation",
    "layers",
    "losses",
    "models",
    "training",
]


def __getattr__(name: str) -> ModuleType:
    """Import the room `name` on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    """List the rooms beside what is loaded already."""
    return sorted({*globals(), *__all__})

"""Backward-compatible training and FastFill for Keras.

Importing this package imports neither TensorFlow nor Keras: each room is imported
when it is first named (`keras_bct.losses`, `keras_bct.evaluation`, ...). It is enough
for `keras.models.load_model` to make the layers and losses of a saved model again.
"""

import importlib
import os
from types import ModuleType

from keras_bct.saved_classes import announce_to_keras

# TensorFlow reads it when it is imported. Without it, on a processor with AVX2 and no
# AVX-512, its matrix products take half as long again. What is set already stays.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
announce_to_keras()

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

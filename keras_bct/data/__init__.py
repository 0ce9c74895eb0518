"""Pictures: the embedded kanji, TFRecords, and batches to train on.

The kanji (`glyphs`) need NumPy alone; what touches TFRecords imports TensorFlow when
it is first named.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_bct.data import glyphs
    from keras_bct.data.augmentation import Augmentation
    from keras_bct.data.decoding import decode_pictures
    from keras_bct.data.glyphs import Glyphs
    from keras_bct.data.records import ImageRecords, read_records, write_records
    from keras_bct.data.training_batches import training_dataset

__all__ = [
    "Augmentation",
    "Glyphs",
    "ImageRecords",
    "decode_pictures",
    "glyphs",
    "read_records",
    "training_dataset",
    "write_records",
]

_MODULES = {
    "Augmentation": "augmentation",
    "Glyphs": "glyphs",
    "ImageRecords": "records",
    "decode_pictures": "decoding",
    "read_records": "records",
    "training_dataset": "training_batches",
    "write_records": "records",
}


def __getattr__(name: str) -> Any:
    """Import the module of `name` on first use."""
    if name == "glyphs":
        return importlib.import_module(f"{__name__}.glyphs")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names beside what is loaded already."""
    return sorted({*globals(), *__all__})

"""Pictures: the embedded kanji, data sets as distributed, TFRecords, training batches.

The kanji (`glyphs`) and the loaders need no TensorFlow; what touches TFRecords or
augments imports it when it is first named.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_bct.data import glyphs
    from keras_bct.data.augmentation import Augmentation
    from keras_bct.data.class_split import first_share, rank_classes, split_classes
    from keras_bct.data.colour_distortion import ColourDistortion
    from keras_bct.data.csv_list import read_csv_list
    from keras_bct.data.decoding import decode_pictures
    from keras_bct.data.glyph_set import Glyphs
    from keras_bct.data.horizontal_flip import HorizontalFlip
    from keras_bct.data.ijbc import read_ijbc_identification, read_ijbc_verification
    from keras_bct.data.image_folder import read_image_folder
    from keras_bct.data.image_list import ImageList
    from keras_bct.data.image_preparation import Preparation
    from keras_bct.data.imagenet import read_imagenet
    from keras_bct.data.line_error import LineError
    from keras_bct.data.market1501 import read_market1501
    from keras_bct.data.misalignment import Misalignment
    from keras_bct.data.own_size import OwnSize
    from keras_bct.data.places import read_places365
    from keras_bct.data.random_change import stateless
    from keras_bct.data.record_shards import write_shards
    from keras_bct.data.records import ImageRecords, read_records, write_records
    from keras_bct.data.training_batches import training_dataset
    from keras_bct.data.vggface2 import read_identities, read_vggface2

__all__ = [
    "Augmentation",
    "ColourDistortion",
    "Glyphs",
    "HorizontalFlip",
    "ImageList",
    "ImageRecords",
    "LineError",
    "Misalignment",
    "OwnSize",
    "Preparation",
    "decode_pictures",
    "first_share",
    "glyphs",
    "rank_classes",
    "read_csv_list",
    "read_identities",
    "read_ijbc_identification",
    "read_ijbc_verification",
    "read_image_folder",
    "read_imagenet",
    "read_market1501",
    "read_places365",
    "read_records",
    "read_vggface2",
    "split_classes",
    "stateless",
    "training_dataset",
    "write_records",
    "write_shards",
]

_MODULES = {
    "Augmentation": "augmentation",
    "ColourDistortion": "colour_distortion",
    "Glyphs": "glyph_set",
    "HorizontalFlip": "horizontal_flip",
    "ImageList": "image_list",
    "ImageRecords": "records",
    "LineError": "line_error",
    "Misalignment": "misalignment",
    "OwnSize": "own_size",
    "Preparation": "image_preparation",
    "decode_pictures": "decoding",
    "first_share": "class_split",
    "rank_classes": "class_split",
    "read_csv_list": "csv_list",
    "read_identities": "vggface2",
    "read_ijbc_identification": "ijbc",
    "read_ijbc_verification": "ijbc",
    "read_image_folder": "image_folder",
    "read_imagenet": "imagenet",
    "read_market1501": "market1501",
    "read_places365": "places",
    "read_records": "records",
    "read_vggface2": "vggface2",
    "split_classes": "class_split",
    "stateless": "random_change",
    "training_dataset": "training_batches",
    "write_records": "records",
    "write_shards": "record_shards",
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

"""Trains a version from a recipe: `python -m keras_bct train RECIPE`.

Importing it, or reading a recipe, imports neither TensorFlow nor Keras.
"""

import importlib
from typing import TYPE_CHECKING, Any

from keras_bct.training.recipe import Recipe
from keras_bct.training.recipe_file import read_recipe, recipe_names
from keras_bct.training.settings import (
    CriterionSettings,
    DataSettings,
    OptimizerSettings,
)

if TYPE_CHECKING:
    from keras_bct.training.old_angle import angles_to_old
    from keras_bct.training.optimizer import DecayingSGD
    from keras_bct.training.summary import Summary
    from keras_bct.training.trainer import train

__all__ = [
    "CriterionSettings",
    "DataSettings",
    "DecayingSGD",
    "OptimizerSettings",
    "Recipe",
    "Summary",
    "angles_to_old",
    "read_recipe",
    "recipe_names",
    "train",
]

_MODULES = {
    "DecayingSGD": "optimizer",
    "Summary": "summary",
    "angles_to_old": "old_angle",
    "train": "trainer",
}


def __getattr__(name: str) -> Any:
    """Import the module of `name` on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names beside what is loaded already."""
    return sorted({*globals(), *__all__})

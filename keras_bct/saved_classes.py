"""Lets `keras.models.load_model` find this package's classes after `import keras_bct`.

Keras looks a saved class up in a table that a class enters when its module is imported.
`import keras_bct` imports none of these modules, and no Keras, so it enters stand-ins:
each imports its class when a saved model asks for it. Where Keras is not imported yet,
they are entered as soon as it is.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

CLASSES = {
    "Alignment": "losses.alignment",
    "AlignmentMap": "layers.alignment_map",
    "AlignmentModel": "models.alignment_model",
    "ArcFace": "losses.arcface",
    "AttentionPooling": "layers.attention_pooling",
    "ColourDistortion": "data.colour_distortion",
    "CompatibleModel": "models.compatible_model",
    "Contrastive": "losses.contrastive",
    "CosFace": "losses.cosface",
    "CosineHead": "layers.cosine_head",
    "DecayingSGD": "training.optimizer",
    "Distillation": "losses.distillation",
    "FastFill": "losses.fastfill",
    "FeatureAlignment": "losses.feature_alignment",
    "FrozenClassifier": "layers.frozen_classifier",
    "FrozenEmbedder": "models.frozen_embedder",
    "HorizontalFlip": "data.horizontal_flip",
    "Influence": "losses.influence",
    "L2": "losses.l2",
    "LinearHead": "layers.linear_head",
    "Misalignment": "data.misalignment",
    "MultiWorkerModel": "models.multi_worker_model",
    "NormSoftmax": "losses.normsoftmax",
    "NormalisedDense": "layers.normalised_dense",
    "OldBesideNew": "layers.old_beside_new",
    "OldShare": "models.old_share",
    "ResidualAlignment": "layers.residual_alignment",
    "SimplexHead": "layers.simplex_head",
    "Softmax": "losses.softmax",
    "SphereFace": "losses.sphereface",
    "UncertaintyHead": "layers.uncertainty_head",
}
"""The module in `keras_bct` of each class that Keras saves."""


class _StandIn:
    """Takes the place of a class until a saved model asks for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def from_config(self, config: dict[str, Any]) -> Any:
        """Import the class, which takes its place in Keras's table, and make it."""
        module = importlib.import_module(f"keras_bct.{CLASSES[self._name]}")
        return getattr(module, self._name).from_config(config)


class _WhenKerasIsImported(MetaPathFinder):
    """Finds `keras` as Python does, and enters the stand-ins when it has run."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != "keras":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _enter(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def announce_to_keras() -> None:
    """Enter the stand-ins in Keras's table, now or when Keras is imported."""
    keras = sys.modules.get("keras")
    if keras is not None:
        _enter(keras)
    else:
        sys.meta_path.insert(0, _WhenKerasIsImported())


def _enter(keras: ModuleType) -> None:
    table = keras.saving.get_custom_objects()
    for name in CLASSES:
        table.setdefault(f"keras_bct>{name}", _StandIn(name))

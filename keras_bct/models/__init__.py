"""Backbones, the compatible-training model, and versions as SavedModels."""

from keras_bct.models.alignment_model import AlignmentModel
from keras_bct.models.compatible_model import CompatibleModel, compatible_model
from keras_bct.models.deep_glyph_network import deep_glyph_network
from keras_bct.models.embedder import Embedder, load_embedder
from keras_bct.models.export_version import export_version
from keras_bct.models.frozen_embedder import FrozenEmbedder
from keras_bct.models.glyph_network import glyph_network
from keras_bct.models.multi_worker_model import MultiWorkerModel
from keras_bct.models.resnet import resnet

__all__ = [
    "AlignmentModel",
    "CompatibleModel",
    "Embedder",
    "FrozenEmbedder",
    "MultiWorkerModel",
    "compatible_model",
    "deep_glyph_network",
    "export_version",
    "glyph_network",
    "load_embedder",
    "resnet",
]

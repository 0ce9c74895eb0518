"""Backbone, head and loss of a recipe."""

from __future__ import annotations

import keras

from keras_bct import layers, losses, models
from keras_bct.classifier import Classifier
from keras_bct.training.recipe import GLYPH_NETWORKS, Recipe


def make_backbone(recipe: Recipe) -> keras.Model:
    """Gives the untrained network, from pictures to embeddings."""
    if recipe.backbone in GLYPH_NETWORKS:
        assert recipe.width is not None, "a recipe of a glyph network has a width"
        networks = {
            "glyph": models.glyph_network,
            "deep-glyph": models.deep_glyph_network,
        }
        backbone = networks[recipe.backbone](
            recipe.embedding_size,
            recipe.width,
            image_shape=recipe.image_shape,
            seed=recipe.seed,
        )
    else:
        backbone = models.resnet(
            int(recipe.backbone.removeprefix("resnet")),
            recipe.embedding_size,
            image_shape=recipe.image_shape,
            seed=recipe.seed,
        )
    if recipe.relu:
        backbone = keras.Model(
            backbone.inputs[0], keras.layers.ReLU()(backbone.outputs[0])
        )
    return backbone


def make_loss(recipe: Recipe) -> losses.ClassifierLoss:
    """Gives the new classifier's loss."""
    smoothing = recipe.label_smoothing
    if recipe.loss == "softmax":
        return losses.Softmax(label_smoothing=smoothing)
    if recipe.loss == "normsoftmax":
        return losses.NormSoftmax(scale=recipe.scale, label_smoothing=smoothing)
    with_margin = losses.ArcFace if recipe.loss == "arcface" else losses.CosFace
    return with_margin(
        scale=recipe.scale, margin=recipe.margin, label_smoothing=smoothing
    )


def make_head(recipe: Recipe, classes: int) -> layers.CosineHead | layers.LinearHead:
    """Gives the untrained head that the loss takes."""
    head = layers.LinearHead if recipe.loss == "softmax" else layers.CosineHead
    return head(classes, seed=recipe.seed)


def make_size_map(recipe: Recipe, old: Classifier | None) -> keras.Layer | None:
    """Gives the untrained map to the old size, where the recipe asks for one."""
    if not recipe.size_map or old is None:
        return None
    return keras.layers.Dense(
        old.embedding_size,
        use_bias=False,
        kernel_initializer=keras.initializers.GlorotUniform(seed=recipe.seed),
        name="size_map",
    )

"""The maps that FastFill's tables compare."""

from __future__ import annotations

import dataclasses
from typing import Any

from keras_bct import adapters
from keras_bct.alignment.recipe import AlignmentRecipe, residual_recipe
from keras_bct.experiments.fastfill.map_methods import Adapted, Aligned, Backward

PAPER = AlignmentRecipe(hidden_size=512, batch_size=128, epochs=20, warm_up_epochs=2)
"""The paper's recipe for a few ten thousand pairs: narrower hidden layers, and smaller
batches, or h would take 900 steps where it took 100,000 in the paper."""

LARGE_BATCHES = dataclasses.replace(PAPER, batch_size=1024)

# More epochs are a little better (`fastfill-choice`), and take as much longer.
OURS = residual_recipe(epochs=8)

MEAN = Aligned(PAPER)
SUM = Aligned(dataclasses.replace(PAPER, components="sum"))
FCT = Aligned(dataclasses.replace(PAPER, discriminative_weight=0.0, uncertainty="none"))
RESIDUAL = Aligned(OURS)
RIDGE = Adapted(adapters.Ridge())
PROCRUSTES = Adapted(adapters.Procrustes())
SCALED_ROTATION = Adapted(adapters.ScaledRotation())
LOW_RANK = Adapted(adapters.LowRank(32))
RESIDUAL_MLP = Adapted(adapters.ResidualMLP())


def aligned(changes: dict[str, Any], recipe: AlignmentRecipe = PAPER) -> Aligned:
    """Gives an alignment model by a recipe with changes."""
    return Aligned(dataclasses.replace(recipe, **changes))


def forward(**changes: float) -> Adapted:
    """Gives lambda-orthogonality's map for the old gallery."""
    return Adapted(adapters.LambdaOrthogonal(**changes), labelled=True)  # type: ignore[arg-type]


def backward(**changes: float) -> Backward:
    """Gives lambda-orthogonality's map from new to old, held near a rotation."""
    return Backward(adapters.LambdaOrthogonal(**changes))  # type: ignore[arg-type]


# As chosen in `fastfill-choice`; a larger lambda costs the new model's own mAP.
FORWARD = forward(contrastive_weight=0.01)
BACKWARD = backward(contrastive_weight=1.0)

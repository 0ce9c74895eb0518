"""How one version is trained, as a configuration."""

from __future__ import annotations

import dataclasses
from typing import Any

from keras_bct.checked_choice import check_choice
from keras_bct.checked_numbers import make_plain
from keras_bct.training.settings import (
    CriterionSettings,
    DataSettings,
    OptimizerSettings,
)

METHODS = ("independent", "l2", "beta", "beta-sys", "beta-kd", "lwf", "ract")
GLYPH_NETWORKS = ("glyph", "deep-glyph")
RESNETS = ("resnet18", "resnet50", "resnet101", "resnet152")
LOSSES = ("arcface", "cosface", "normsoftmax", "softmax")
OLD_ROWS = ("trained", "means")
AUGMENTATIONS = ("plain", "misalignment", "colour", "flip")
PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")
STRATEGIES = ("none", "mirrored", "multi-worker")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One training, complete; `data` and `predecessor` may come from elsewhere.

    Attributes:
        method: The second term of the loss (docs/methods.md, section 3): `independent`
            has none; `l2` is half the squared distance to the old embedding over the
            old classes; `beta` is the influence loss over the old classes; `beta-sys`
            the same over all classes with synthesised rows for the new ones; `beta-kd`
            is beta and the divergence of the old classifier's outputs over all classes;
            `lwf` is beta and the old model's soft labels for the new classes; `ract` is
            the contrastive term of docs/methods.md, section 3 over all classes, with
            `influence_weight` and `temperature`.
        width: Channels of the first convolution of a glyph network; None for a ResNet.
        steps: Number of batches; or give `epochs`.
        backbone: `glyph`, five convolutions, `deep-glyph`, eight with shortcuts, or
            `resnet18`, `resnet50`, `resnet101`, `resnet152`.
        embedding_size: Components d of the embedding.
        relu: Whether a ReLU follows the embedding, which the paper found to fail.
        size_map: Whether a learned linear map, in place of the first components,
            takes the embedding to the old model's size; the paper found it to fail.
        batch_size: Pictures in a batch, over all devices together.
        learning_rate: The highest learning rate; `optimizer.schedule` is its course.
        loss: The new classifier's form.
        scale: The factor s of the cosine forms.
        margin: The margin m of `cosface` (on the cosine) and `arcface` (radians).
        influence_weight: lambda of Eq. 8, and of Eq. 3 for `l2`.
        distillation_weight: Weight of the divergence of `beta-kd` and `lwf`.
        temperature: T of that divergence.
        old_rows: The old classifier's rows: `trained` with the old model, or `means`
            of the old embeddings of each class as a classifier of form `cosface`, for
            an old classifier that is lost or of another form.
        seed: Of weights, batches and augmentation.
        image_shape: Height, width and channels of a picture.
        epochs: Passes over the training pictures; in place of `steps`.
        interval_steps: About how many steps pass between two checkpoints; scalars and
            the criterion are written then too. None: an epoch, or a tenth of `steps`.
        optimizer: See `OptimizerSettings`.
        label_smoothing: Of the new classifier's loss, in [0, 1).
        augmentation: Changes of a picture, in order: `plain` shifts, turns, scales and
            changes contrast and brightness; `misalignment` and `colour` are those of
            the paper's faces; `flip` mirrors half of the pictures. Empty: none.
        pictures_per_class: Class-balanced batches with so many pictures of each class.
        precision: Keras's policy: `float32`, `mixed_float16` or `mixed_bfloat16`.
        strategy: `none`, `mirrored` over the GPUs of one machine, or `multi-worker`
            over the machines that TF_CONFIG names.
        deterministic: Whether TensorFlow is to refuse operations that are not. On a
            CPU the seed is enough; on a GPU this is needed too, and slower.
        data: The training pictures, see `DataSettings`.
        predecessor: Directory of the version to be compatible with.
        criterion: Equation 2 at every interval, see `CriterionSettings`.

    Raises:
        ValueError: A value is out of its range, or two do not fit together.

    Example:
        >>> Recipe(method="beta", width=32, steps=2000).embedding_size
        64
    """

    method: str
    width: int | None = None
    steps: int | None = None
    backbone: str = "glyph"
    embedding_size: int = 64
    relu: bool = False
    size_map: bool = False
    batch_size: int = 128
    learning_rate: float = 2e-3
    loss: str = "cosface"
    scale: float = 24.0
    margin: float = 0.3
    influence_weight: float = 1.0
    distillation_weight: float = 1.0
    temperature: float = 1.0
    old_rows: str = "trained"
    seed: int = 0
    image_shape: tuple[int, int, int] = (32, 32, 1)
    epochs: int | None = None
    interval_steps: int | None = None
    optimizer: OptimizerSettings = OptimizerSettings()  # noqa: RUF009 - frozen
    label_smoothing: float = 0.0
    augmentation: tuple[str, ...] = ("plain",)
    pictures_per_class: int | None = None
    precision: str = "float32"
    strategy: str = "none"
    deterministic: bool = False
    data: DataSettings | None = None
    predecessor: str | None = None
    criterion: CriterionSettings | None = None

    def __post_init__(self) -> None:
        """Checks the ranges."""
        make_plain(self)
        for name, choices in (
            ("method", METHODS),
            ("backbone", GLYPH_NETWORKS + RESNETS),
            ("loss", LOSSES),
            ("old_rows", OLD_ROWS),
            ("precision", PRECISIONS),
            ("strategy", STRATEGIES),
        ):
            check_choice(name, getattr(self, name), choices)
        for change in self.augmentation:
            check_choice("augmentation", change, AUGMENTATIONS)
        for name in (
            "width",
            "steps",
            "epochs",
            "embedding_size",
            "batch_size",
            "interval_steps",
            "pictures_per_class",
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"`{name}` should be at least 1. Received: {value}")
        for name in ("influence_weight", "distillation_weight"):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"`{name}` should not be negative. Received: {getattr(self, name)}"
                )
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                "`label_smoothing` should be at least 0 and below 1. Received: "
                f"{self.label_smoothing}"
            )
        self._check_together()

    def _check_together(self) -> None:
        """Refuses fields that do not fit each other."""
        if (self.steps is None) == (self.epochs is None):
            raise ValueError(
                "A recipe should have either `steps` or `epochs`. Received: "
                f"steps={self.steps}, epochs={self.epochs}"
            )
        if (self.width is None) == (self.backbone in GLYPH_NETWORKS):
            raise ValueError(
                f"`width` should be given for {' and '.join(GLYPH_NETWORKS)}, and for "
                f"no ResNet. Received: width={self.width} for {self.backbone!r}"
            )
        if self.optimizer.schedule == "steps" and self.epochs is None:
            raise ValueError(
                "`optimizer.schedule` 'steps' counts epochs and needs `epochs`. "
                f"Received: steps={self.steps}"
            )
        if self.criterion is not None and self.method == "independent":
            raise ValueError(
                "`criterion` compares with a predecessor, which the method "
                "'independent' has not. Received: both"
            )

    def digested(self) -> dict[str, Any]:
        """Gives what the digest of a training is taken of, as plain values.

        The fields up to `image_shape` are always there; those that came after them
        only where they differ from their default, so that a training that leaves them
        alone keeps the digest that it had before they were there.
        """
        fields = [field.name for field in dataclasses.fields(self)]
        since = set(fields[fields.index("image_shape") + 1 :])
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in since or getattr(self, name) != defaults[name]
        }

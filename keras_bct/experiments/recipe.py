"""How one version is trained, as a configuration."""

import dataclasses

METHODS = ("independent", "l2", "beta", "beta-sys", "beta-kd", "lwf")
BACKBONES = ("glyph", "deep-glyph")
LOSSES = ("arcface", "cosface", "normsoftmax", "softmax")
OLD_ROWS = ("trained", "means")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One training, complete but for its data.

    Attributes:
        method: The second term of the loss (METHODS.md 3): `independent` has none;
            `l2` is half the squared distance to the old embedding over the old
            classes; `beta` is the influence loss over the old classes; `beta-sys` the
            same over all classes with synthesised rows for the new ones; `beta-kd` is
            beta and the divergence of the old classifier's outputs over all classes;
            `lwf` is beta and the old model's soft labels for the new classes.
        width: Channels of the network's first convolution.
        steps: Number of batches.
        backbone: `glyph`, five convolutions, or `deep-glyph`, eight with shortcuts.
        embedding_size: Components d of the embedding.
        relu: Whether a ReLU follows the embedding, which the paper found to fail.
        size_map: Whether a learned linear map, in place of the first components,
            takes the embedding to the old model's size; the paper found it to fail.
        batch_size: Pictures in a batch.
        learning_rate: The highest learning rate; see `train` for its course.
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

    Raises:
        ValueError: A value is out of its range.

    Example:
        >>> Recipe(method="beta", width=32, steps=2000).embedding_size
        64
    """

    method: str
    width: int
    steps: int
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

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name, choices in (
            ("method", METHODS),
            ("backbone", BACKBONES),
            ("loss", LOSSES),
            ("old_rows", OLD_ROWS),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"`{name}` should be one of {', '.join(choices)}. "
                    f"Received: {getattr(self, name)!r}"
                )
        for name in ("width", "steps", "embedding_size", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"`{name}` should be at least 1. Received: {getattr(self, name)}"
                )
        for name in ("influence_weight", "distillation_weight"):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"`{name}` should not be negative. Received: {getattr(self, name)}"
                )

"""How one version is trained, as a configuration."""

import dataclasses

METHODS = ("independent", "beta", "beta-sys")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One training, complete but for its data.

    Attributes:
        method: The second term of the loss (METHODS.md 3): `independent` has none,
            `beta` is the influence loss over the old classes, `beta-sys` the same over
            all classes with synthesised rows for the new ones.
        width: Channels of the network's first convolution.
        embedding_size: Components d of the embedding.
        steps: Number of batches.
        batch_size: Pictures in a batch.
        learning_rate: The highest learning rate; see `train` for its course.
        scale: CosFace's s.
        margin: CosFace's m.
        influence_weight: lambda of Eq. 8.
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
    embedding_size: int = 64
    batch_size: int = 128
    learning_rate: float = 2e-3
    scale: float = 24.0
    margin: float = 0.3
    influence_weight: float = 1.0
    seed: int = 0
    image_shape: tuple[int, int, int] = (32, 32, 1)

    def __post_init__(self) -> None:
        """Checks the ranges."""
        if self.method not in METHODS:
            raise ValueError(
                f"`method` should be one of {', '.join(METHODS)}. "
                f"Received: {self.method!r}"
            )
        for name in ("width", "steps", "embedding_size", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"`{name}` should be at least 1. Received: {getattr(self, name)}"
                )
        if self.influence_weight < 0:
            raise ValueError(
                "`influence_weight` should not be negative. "
                f"Received: {self.influence_weight}"
            )

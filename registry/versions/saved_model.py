"""What a SavedModel embeds by, told by letting it embed pictures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from keras_bct.embedding_parts import EmbeddingParts
from registry.errors import InvalidModelError


def try_embedding(directory: Path, named: EmbeddingParts) -> tuple[EmbeddingParts, int]:
    """Embeds made pictures by the SavedModel, as all who search with it will.

    Args:
        directory: Local folder with `saved_model.pb` directly inside.
        named: The parts to embed by, as far as they are named.

    Returns:
        The names of the parts, and the components of the embedding.

    Raises:
        InvalidModelError: It is no SavedModel, or does not embed pictures.
    """
    from keras_bct.models import load_embedder

    if not (directory / "saved_model.pb").is_file():
        raise InvalidModelError(
            f"Expected a SavedModel directory with saved_model.pb directly inside. "
            f"There is none in {directory}."
        )
    try:
        embedder = load_embedder(directory, **asdict(named))
        embedder.check()
    except (OSError, ValueError) as error:
        raise InvalidModelError(str(error)) from error
    return embedder.parts, embedder.embedding_size

"""Whether stored vectors are what a version makes of their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from registry.errors import InvalidGalleryError, UsageError

AT_LEAST = 16
"""How many vectors are compared, where there are so many."""

AT_MOST = 64

TOLERANCE = 0.25
"""How far a vector may lie from its picture's embedding, in spreads of the embeddings.

A vector of another model, or of another picture, lies at about 1.4 of them. What
rounding to float16, another decoder of JPEG or another resizing does stays below.
"""

_NAMED_IN_ERRORS = 3

Floats = npt.NDArray[Any]


def sample_rows(
    ids: Sequence[str], pictures: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Chooses vectors to compare, always the same.

    Args:
        ids: Names of the vectors.
        pictures: Names of the pictures.

    Returns:
        At most `AT_MOST` rows of vectors, and of the pictures of the same names.

    Raises:
        UsageError: Too few of them have a picture.
    """
    places = {name: row for row, name in enumerate(pictures)}
    known = [row for row, name in enumerate(ids) if name in places]
    if len(known) < min(AT_LEAST, len(ids)):
        raise UsageError(
            f"Pictures of at least {min(AT_LEAST, len(ids))} of the {len(ids):,} "
            f"vectors are needed to compare them (--pictures). Received: {len(known)} "
            f"of {len(places):,} pictures have the id of a vector; vectors are called "
            f"such as {str(ids[0])!r}, pictures such as "
            f"{str(next(iter(places), ''))!r}."
        )
    chosen = np.random.default_rng(0).permutation(len(known))[:AT_MOST]
    rows = [known[place] for place in sorted(chosen)]
    return rows, [places[ids[row]] for row in rows]


def refuse_other_vectors(
    ids: Sequence[str],
    vectors: Floats,
    embeddings: Floats,
    *,
    version: str,
    distance: str,
) -> None:
    """Raises when vectors are not what a version makes of their pictures.

    Args:
        ids: n names.
        vectors: (n, d) that are said to be the version's.
        embeddings: (n, d) or wider: what it makes of the pictures.
        version: Its name, for the message.
        distance: What its embeddings are compared by; for cosine their lengths do not
            matter.

    Raises:
        InvalidGalleryError: The message names some that are not.
    """
    made = np.asarray(embeddings, np.float64)[:, : vectors.shape[1]]
    given = np.asarray(vectors, np.float64)
    if distance == "cosine":
        made, given = _unit(made), _unit(given)
    # A single picture has no spread, and is asked for its own length.
    centre = made.mean(axis=0) if len(made) > 1 else np.zeros_like(made[0])
    spread = np.sqrt(np.mean(np.sum((made - centre) ** 2, axis=1)))
    off = np.linalg.norm(given - made, axis=1)
    bad = np.flatnonzero(~(off <= TOLERANCE * spread))
    if len(bad):
        worst = float(np.median(off[bad]) / spread) if spread else np.inf
        raise InvalidGalleryError(
            f"The vectors should be what {version} makes of their pictures, to within "
            f"{TOLERANCE:g} of the spread of its embeddings. Received {len(bad)} of "
            f"{len(ids)} that are not, such as "
            f"{[str(ids[row]) for row in bad[:_NAMED_IN_ERRORS]]}, which lie "
            f"{worst:.2f} away. They are another model's or another picture's, or the "
            "pictures were prepared otherwise (size, crop, range of pixels). Name the "
            "version that made them, or import them on trust with `unchecked` "
            "(--unchecked), which is shown wherever they count. Nothing was added."
        )


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))

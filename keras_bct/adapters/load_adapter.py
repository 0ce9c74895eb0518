"""Loading an adapter of either direction, whatever its map is."""

from __future__ import annotations

from pathlib import Path

from keras_bct.adapters.adapter import NewToOld, OldToNew
from keras_bct.adapters.description import AdapterDescription

_DIRECTIONS: dict[str, type[OldToNew] | type[NewToOld]] = {
    direction.direction: direction for direction in (OldToNew, NewToOld)
}


def load_adapter(
    directory: str | Path,
    *,
    old_fingerprint: str | None = None,
    new_fingerprint: str | None = None,
) -> OldToNew | NewToOld:
    """Read an adapter that `save` wrote, closed-form or learned.

    Its files are checked against their digests before anything reads them. TensorFlow
    is imported only for a map that is a SavedModel; `AdapterDescription.read` tells
    what an adapter is without loading it at all.

    Args:
        directory: Holds `adapter.json`.
        old_fingerprint: The version that the old side should be of; checked if given.
        new_fingerprint: The version that the new side should be of; checked if given.

    Returns:
        An `OldToNew` or a `NewToOld`. Who can use but one of them calls its `load`.

    Raises:
        FileNotFoundError: There is no adapter in `directory`.
        ValueError: It is between other versions, of another schema, or its files are
            not those that were saved.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from keras_bct.adapters import Ridge
        >>> old = np.random.default_rng(0).normal(size=(9, 2))
        >>> fitted = Ridge().fit(old, -old, old_fingerprint="0a", new_fingerprint="1b")
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     fitted.save(directory)
        ...     load_adapter(directory).direction
        'old-to-new'
    """
    description = AdapterDescription.read(directory)
    for name, wanted in (
        ("old_fingerprint", old_fingerprint),
        ("new_fingerprint", new_fingerprint),
    ):
        found = getattr(description, name)
        if wanted is not None and wanted != found:
            raise ValueError(
                f"`{name}` should be that of the adapter in {directory}, {found!r}. "
                f"Received: {wanted!r}; take the adapter that was fitted for it."
            )
    return _DIRECTIONS[description.direction].load(directory)

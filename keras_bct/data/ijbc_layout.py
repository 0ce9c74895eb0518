"""In which of its two forms IJB-C is there."""

from __future__ import annotations

import os
import pathlib

from keras_bct.data.ijbc_community import CommunityLayout
from keras_bct.data.ijbc_nist import NistLayout


def open_layout(directory: str | os.PathLike[str]) -> NistLayout | CommunityLayout:
    """Tell by its folders in which form IJB-C is there.

    Raises:
        FileNotFoundError: in neither; the message says what was looked for.
    """
    root = pathlib.Path(directory)
    if (root / "protocols").is_dir():
        return NistLayout(root)
    if (root / "meta").is_dir():
        return CommunityLayout(root)
    raise FileNotFoundError(
        "IJB-C should have the folders protocols and images (as NIST distributes it) "
        f"or meta and loose_crop. Received: neither protocols nor meta in {root}"
    )

"""The embedded kanji: 1,400 characters in 28 typefaces, 32 x 32 grey.

    python -m keras_bct.data.glyphs DIRECTORY

writes the TFRecords and the protocols of the published split.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.resources
import io
import os
import pathlib
import sys
from collections.abc import Sequence

import numpy as np

from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.data.glyph_set import Glyphs

_EMBEDDED_SHA256 = "c596900d051e2cb242211798dc88ca0ecc17496edda0b6e5abcc60fa97f0a504"


def load(path: str | os.PathLike[str] | None = None) -> Glyphs:
    """Load the embedded kanji, or a set that `draw_glyphs` wrote.

    Args:
        path: a file of `Glyphs.save`; by default the embedded one, whose SHA-256
            is checked.

    Returns:
        1,400 characters in 28 typefaces, or what the file holds.

    Raises:
        ValueError: the embedded file is not the published one.

    >>> load().images.shape
    (1400, 28, 32, 32)
    """
    if path is None:
        packed = importlib.resources.files(__package__).joinpath("glyphs.npz")
        content = packed.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != _EMBEDDED_SHA256:
            raise ValueError(
                f"{packed} should have the SHA-256 {_EMBEDDED_SHA256}. Received: "
                f"{digest}. The file was changed or cut short: install keras-bct anew."
            )
    else:
        content = pathlib.Path(path).read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        pairs = stored["pixel_pairs"]
        levels = np.stack([pairs >> 4, pairs & 15], axis=-1)
        return Glyphs(
            images=levels.reshape(*pairs.shape[:-1], 2 * pairs.shape[-1])
            * np.uint8(17),
            characters=tuple(stored["characters"].tolist()),
            typefaces=tuple(stored["typefaces"].tolist()),
        )


def run(arguments: Sequence[str]) -> int:
    """Write the directory that the command line names."""
    # Writing records needs TensorFlow, loading the kanji does not.
    from keras_bct.data.glyph_records import write_directory

    escape_what_cannot_be_printed()
    parser = argparse.ArgumentParser(
        prog="python -m keras_bct.data.glyphs",
        description="Write the TFRecords and protocols of the kanji.",
        epilog="Example: python -m keras_bct.data.glyphs out/kanji",
    )
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument(
        "--glyphs", type=pathlib.Path, help="a file of draw_glyphs, for a larger set"
    )
    options = parser.parse_args(arguments)
    for file in write_directory(options.directory, load(options.glyphs)):
        print(f"{file}  {file.stat().st_size:,} bytes", file=sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

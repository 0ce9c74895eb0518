"""Where the last TFRecord of a file ends."""

import gzip
import os
import zlib

from keras_bct.whole_file import whole_file

AROUND_RECORD = 16
"""Bytes of a record beside its data: its length, and a checksum of each."""

_GZIP_MAGIC = b"\x1f\x8b"


def refuse_rest(path: str, size: int, records: int) -> None:
    """Refuse a file that goes on after its last whole record.

    TensorFlow takes a record of which fewer than twelve bytes are there for the end of
    the file, and a packed file that breaks off likewise.

    Args:
        path: The file, on a local disk; another is taken for whole.
        size: Bytes of its records, unpacked, with those around their data.
        records: How many they are.

    Raises:
        ValueError: There is more.
    """
    if not os.path.isfile(path):
        return
    if rest := _unpacked_size(path) - size:
        raise ValueError(
            f"whole TFRecords are expected. Received, after {records:,} of them, "
            f"{rest:,} bytes that are no record; write the file anew."
        )


def _unpacked_size(path: str) -> int:
    with open(path, "rb") as file:
        if file.read(len(_GZIP_MAGIC)) != _GZIP_MAGIC:
            return os.path.getsize(path)
    with whole_file("packed .tfrecord", EOFError, zlib.error):
        with gzip.open(path) as unpacked:
            return unpacked.seek(0, os.SEEK_END)

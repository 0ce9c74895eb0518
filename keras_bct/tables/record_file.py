"""Embeddings in TFRecords: one `tf.train.Example` a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from keras_bct.tables.columns import Columns
from keras_bct.tables.record_end import AROUND_RECORD, refuse_rest
from keras_bct.whole_file import whole_file


def read_tfrecord(path: str, columns: Columns) -> dict[str, Any]:
    """Read the features of every record; one that a record lacks is missing."""
    features: list[dict[str, Any]] = []
    there: dict[str, None] = {}
    for record in _records(path):
        try:
            every = tf.train.Example.FromString(record).features.feature
        except DecodeError as error:
            raise ValueError(
                f"records of tf.train.Example are expected. Record {len(features)} "
                "(counted from 0) is none."
            ) from error
        there.update(dict.fromkeys(every))
        features.append({c: every[c] for c in columns.wanted if c in every})
    if not features:
        raise ValueError("at least one record is expected. Received: none.")
    found: dict[str, Any] = {
        name: [_value(name, row, f.get(name)) for row, f in enumerate(features)]
        for name in columns.among(list(there))
        if name != columns.embedding
    }
    found[columns.embedding] = _matrix(
        columns.embedding, [f.get(columns.embedding) for f in features]
    )
    return found


def _records(path: str) -> Iterator[bytes]:
    """The records of a file that is whole."""
    with whole_file(".tfrecord"), open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    size = count = 0
    try:
        dataset = tf.data.TFRecordDataset(path, "GZIP" if packed else "")
        for record in dataset.as_numpy_iterator():
            yield record
            size += len(record) + AROUND_RECORD
            count += 1
    except tf.errors.OpError as error:
        raise ValueError(
            f"whole TFRecords are expected. Received, after {count:,} of them, one "
            "that is cut short or damaged; write the file anew."
        ) from error
    refuse_rest(path, size, count)


def _value(name: str, row: int, feature: Any) -> Any:
    """What a feature holds, be it bytes, an integer or a float; None for nothing."""
    kind = None if feature is None else feature.WhichOneof("kind")
    values = getattr(feature, kind).value if kind else ()
    if len(values) > 1:
        raise ValueError(
            f"the feature {name!r} should hold one value. Received {len(values)} in "
            f"record {row} (counted from 0)."
        )
    return values[0] if values else None


def _matrix(name: str, features: list[Any]) -> Any:
    rows: list[Any] = []
    for row, feature in enumerate(features):
        values = () if feature is None else feature.float_list.value
        if not values:
            kind = feature and feature.WhichOneof("kind")
            raise ValueError(
                f"the feature {name!r} should be a list of floats. Received "
                f"{kind or 'nothing'} in record {row} (counted from 0)."
            )
        rows.append(np.array(values, np.float32))
        if len(rows[0]) != len(rows[-1]):
            raise ValueError(
                f"the feature {name!r} should have one length in every record. "
                f"Received {len(rows[0])} floats in record 0 and {len(rows[-1])} in "
                f"record {row} (counted from 0)."
            )
    return np.stack(rows)

"""Signatures of a SavedModel, read from its protocol buffer without TensorFlow.

Registering must not wait seconds for TensorFlow only to learn an embedding's size,
so the few fields that matter are walked by hand. Field numbers are those of
`saved_model.proto`, `meta_graph.proto` and `tensor_shape.proto`.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from registry.errors import InvalidModelError

_DT_FLOAT = 1
_PREFERRED = ("serving_default", "embed", "embed_bytes", "serve")

_Buffer = memoryview | bytes


@dataclass(frozen=True)
class TensorSpec:
    """Data type (TensorFlow's number) and shape (None: unknown) of a tensor."""

    dtype: int
    shape: tuple[int | None, ...] | None


Signature = dict[str, TensorSpec]
"""Outputs of a signature by name."""


def _varint(data: _Buffer, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number runs over ten bytes")


def _fields(data: _Buffer) -> Iterator[tuple[int, int | _Buffer]]:
    """Yields (field number, value) of a protocol buffer message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} is not in use")
        if at + size > len(data):
            raise ValueError("the file ends within a message")
        yield key >> 3, data[at : at + size]
        at += size


def _messages(data: _Buffer, number: int) -> Iterator[_Buffer]:
    for field, value in _fields(data):
        if field == number and not isinstance(value, int):
            yield value


def _entries(data: _Buffer, number: int) -> Iterator[tuple[str, _Buffer]]:
    """Yields the entries of a `map<string, message>` field."""
    for entry in _messages(data, number):
        key = b"".join(bytes(part) for part in _messages(entry, 1))
        yield key.decode(), next(_messages(entry, 2), b"")


def _shape(data: _Buffer) -> tuple[int | None, ...] | None:
    sizes: list[int | None] = []
    for field, value in _fields(data):
        if field == 3 and value:
            return None
        if field == 2 and not isinstance(value, int):
            size = next((v for f, v in _fields(value) if f == 1), 0)
            # -1, "any", is written as the two's complement in 64 bits.
            sizes.append(size if isinstance(size, int) and size < 1 << 63 else None)
    return tuple(sizes)


def _tensor(data: _Buffer) -> TensorSpec:
    dtype = next((v for f, v in _fields(data) if f == 2 and isinstance(v, int)), 0)
    shape = next(_messages(data, 3), None)
    return TensorSpec(dtype, None if shape is None else _shape(shape))


def read_signatures(directory: Path) -> dict[str, Signature]:
    """Outputs of every signature of the SavedModel in `directory`.

    Raises:
        InvalidModelError: There is no `saved_model.pb`, or it cannot be read.
    """
    path = directory / "saved_model.pb"
    if not path.is_file():
        raise InvalidModelError(
            f"Expected a SavedModel directory with saved_model.pb directly inside. "
            f"There is none in {directory}."
        )
    if not path.stat().st_size:
        raise InvalidModelError(f"{path} is empty: its export was cut short.")
    signatures: dict[str, Signature] = {}
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            graphs = list(_messages(content[:], 2))
            if not graphs:
                raise ValueError("it has no graph")
            for graph in graphs:
                for name, signature in _entries(graph, 5):
                    signatures[name] = {
                        output: _tensor(spec) for output, spec in _entries(signature, 2)
                    }
        except (ValueError, IndexError, UnicodeDecodeError) as error:
            raise InvalidModelError(
                f"{path} is not a SavedModel, or was cut short: {error}. "
                "Export the model again."
            ) from error
        finally:
            content.close()
    return signatures


def find_embedding(signatures: dict[str, Signature]) -> TensorSpec | None:
    """The output that is the embedding, None when no signature has one.

    An output called `embedding` is it; else the only output of a signature, as
    Keras exports foreign models, when it is float32 of shape (batch, d).
    """
    ordered = sorted(
        (name for name in signatures if not name.startswith("__")),
        key=lambda name: (name not in _PREFERRED, name),
    )
    for name in ordered:
        if "embedding" in signatures[name]:
            return signatures[name]["embedding"]
    for name in ordered:
        outputs = list(signatures[name].values())
        if len(outputs) == 1 and outputs[0].dtype == _DT_FLOAT:
            shape = outputs[0].shape
            if shape is not None and len(shape) == 2 and shape[1]:
                return outputs[0]
    return None


def embedding_size(directory: Path) -> int | None:
    """Components of the embedding that the SavedModel in `directory` makes.

    Returns:
        The size, or None when the SavedModel has no signature at all: such a
        predecessor, saved by `model.save`, says its size only once it is loaded.

    Raises:
        InvalidModelError: It is no SavedModel, or none of its signatures has an
            embedding output (float32, shape (batch, d)).
    """
    signatures = read_signatures(directory)
    callable_ones = [name for name in signatures if not name.startswith("__")]
    if not callable_ones:
        return None
    spec = find_embedding(signatures)
    shape = None if spec is None else spec.shape
    if spec is None or (
        spec.dtype != _DT_FLOAT or (shape is not None and len(shape) != 2)
    ):
        raise InvalidModelError(
            f"The SavedModel in {directory} has no embedding output: expected a "
            "signature with an output 'embedding' (float32, shape (batch, d)). "
            f"Its signatures: {', '.join(sorted(callable_ones))}. Export it with "
            "keras_bct.models.export_version."
        )
    return None if shape is None else shape[1]

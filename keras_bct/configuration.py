"""Typed configuration: frozen dataclasses read from YAML, unknown keys refused."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import dacite
import yaml

from keras_bct.did_you_mean import did_you_mean

Configuration = TypeVar("Configuration")


def from_mapping(
    kind: type[Configuration], values: Mapping[str, Any], *, source: str
) -> Configuration:
    """Builds a dataclass from nested plain values, checking names and types.

    Lists become tuples and whole numbers become floats where the field says so.

    Args:
        kind: The dataclass to build.
        values: Its fields, nested dataclasses as nested mappings.
        source: Where the values come from, for the error message.

    Returns:
        An instance of `kind`.

    Raises:
        ValueError: A key is unknown or missing, or a value has another type.

    Example:
        >>> import dataclasses
        >>> @dataclasses.dataclass(frozen=True)
        ... class Margin:
        ...     scale: float
        ...     margin: float = 0.4
        >>> from_mapping(Margin, {"scale": 64}, source="an example")
        Margin(scale=64.0, margin=0.4)
    """
    if not isinstance(values, Mapping):
        raise ValueError(
            f"{source}: expected the keys of {kind.__name__}. "
            f"Received: {type(values).__name__}"
        )
    config = dacite.Config(strict=True, cast=[tuple], type_hooks={float: _to_float})
    try:
        return dacite.from_dict(kind, values, config)
    except dacite.UnexpectedDataError as error:
        known = _field_names(kind)
        unknown = [
            f"unknown key {key!r}.{did_you_mean(key, known)}"
            for key in sorted(map(str, error.keys))
        ]
        raise ValueError(f"{source}: {' '.join(unknown)}") from error
    except (dacite.DaciteError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from error


def read_yaml(kind: type[Configuration], path: str | os.PathLike[str]) -> Configuration:
    """Reads a dataclass from a YAML file.

    Args:
        kind: The dataclass to build.
        path: The file.

    Returns:
        An instance of `kind`.

    Raises:
        ValueError: The file is not YAML, a key is unknown or missing, or a value
            has another type.
        FileNotFoundError: There is no such file.
    """
    return from_mapping(kind, load_yaml(path), source=os.fspath(path))


def load_yaml(path: str | os.PathLike[str]) -> Any:
    """Reads plain values from a YAML file in UTF-8.

    Args:
        path: The file.

    Raises:
        ValueError: The file is not YAML, or not in UTF-8.
        FileNotFoundError: There is no such file.
    """
    with open(path, encoding="utf-8") as file:
        try:
            return yaml.safe_load(file)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not a YAML file in UTF-8: {error}") from error


def _field_names(kind: Any) -> set[str]:
    """The names of a dataclass's fields and of those within them, of any depth."""
    if not dataclasses.is_dataclass(kind):
        return {name for inner in get_args(kind) for name in _field_names(inner)}
    names = set()
    for name, inner in get_type_hints(kind).items():
        names |= {name} | _field_names(inner)
    return names


def _to_float(value: object) -> object:
    """Reads 1 and 5e-4 (a string to YAML 1.1) as floats; leaves the rest to fail."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value

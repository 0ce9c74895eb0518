"""The configuration that makes TensorFlow Serving serve what the aliases name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping


def serving_config(
    models: Mapping[str, tuple[str, Mapping[str, int]]], left_out: Iterable[str] = ()
) -> str:
    """Text of a `ModelServerConfig`.

    Without it TensorFlow Serving takes the newest number of each model, promoted or
    refused.

    Args:
        models: For each model its folder or URL, and the version number of each
            alias. A model without aliases is not served.
        left_out: Sentences on what is not served though an alias names it, which
            stand above as comments.

    Returns:
        A protocol buffer in text format, for `--model_config_file`.

    >>> print(serving_config({"glyphs": ("/r/glyphs", {"production": 3})}), end="")
    model_config_list {
      config {
        name: "glyphs"
        base_path: "/r/glyphs"
        model_platform: "tensorflow"
        model_version_policy { specific { versions: 3 } }
        version_labels { key: "production" value: 3 }
      }
    }
    """
    lines = [f"# {sentence}" for sentence in left_out]
    lines.append("model_config_list {")
    for model, (folder, aliases) in sorted(models.items()):
        if not aliases:
            continue
        lines += [
            "  config {",
            f"    name: {json.dumps(model)}",
            f"    base_path: {_text(folder)}",
            '    model_platform: "tensorflow"',
            f"    model_version_policy {{ specific {{ {_versions(aliases)} }} }}",
            *(
                f"    version_labels {{ key: {json.dumps(alias)} value: {number} }}"
                for alias, number in sorted(aliases.items())
            ),
            "  }",
        ]
    return "\n".join([*lines, "}", ""])


def _versions(aliases: Mapping[str, int]) -> str:
    numbers: Iterable[int] = sorted(set(aliases.values()))
    return " ".join(f"versions: {number}" for number in numbers)


def _text(value: str) -> str:
    """A string of the text format, whose escapes are of bytes, not of characters."""
    safe = set(range(32, 127)) - set(b'"\\')
    return (
        '"'
        + "".join(
            chr(byte) if byte in safe else f"\\{byte:03o}" for byte in value.encode()
        )
        + '"'
    )

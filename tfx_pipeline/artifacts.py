"""The artifact types that this pipeline adds to TFX's own."""

import pathlib

from tfx.types.artifact import Artifact, Property, PropertyType


def evidence_file(number: int) -> str:
    """Name of the file of the evidence against the first, second, ... older version.

    >>> evidence_file(1), evidence_file(2)
    ('evidence.json', 'evidence-2.json')
    """
    return "evidence.json" if number == 1 else f"evidence-{number}.json"


def adapter_folder(uri: str, number: int) -> pathlib.Path:
    """Folder of the adapter for the first, second, ... older version.

    >>> adapter_folder("/artifact", 1).name, adapter_folder("/artifact", 2).name
    ('adapter', 'adapter-2')
    """
    return pathlib.Path(uri, "adapter" if number == 1 else f"adapter-{number}")


class AlignmentAdapter(Artifact):
    """Adapters from older versions' spaces to a new model's, a folder for each.

    That of the predecessor is `adapter`, and the properties are about it. There is none
    where there is no older version; then `pairs` is 0.
    """

    TYPE_NAME = "AlignmentAdapter"
    PROPERTIES = {  # noqa: RUF012 - TFX reads a plain class attribute
        "method": Property(type=PropertyType.STRING),
        "pairs": Property(type=PropertyType.INT),
        "old_fingerprint": Property(type=PropertyType.STRING),
        "new_fingerprint": Property(type=PropertyType.STRING),
    }


class CompatibilityEvidence(Artifact):
    """Evidence for a new version and a protocol, a file for each older version.

    That of the predecessor is `evidence.json`; its digests are the properties.
    `answer` is the gate's over all of them: `yes`, `no`, `undecided`, or `bootstrap`
    where there was nothing to be compatible with and so no evidence.
    """

    TYPE_NAME = "CompatibilityEvidence"
    PROPERTIES = {  # noqa: RUF012 - TFX reads a plain class attribute
        "answer": Property(type=PropertyType.STRING),
        "protocol_digest": Property(type=PropertyType.STRING),
        "data_digest": Property(type=PropertyType.STRING),
    }


class ScannIndex(Artifact):
    """A published ScaNN index, as `index.json` (where it lies and how good it is)."""

    TYPE_NAME = "ScannIndex"
    PROPERTIES = {  # noqa: RUF012 - TFX reads a plain class attribute
        "published": Property(type=PropertyType.INT),
        "rows": Property(type=PropertyType.INT),
        "recall_at_10": Property(type=PropertyType.FLOAT),
    }

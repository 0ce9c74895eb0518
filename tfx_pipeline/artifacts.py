"""The artifact types that this pipeline adds to TFX's own."""

from tfx.types.artifact import Artifact, Property, PropertyType


def evidence_file(number: int) -> str:
    """Name of the file of the evidence against the first, second, ... older version.

    >>> evidence_file(1), evidence_file(2)
    ('evidence.json', 'evidence-2.json')
    """
    return "evidence.json" if number == 1 else f"evidence-{number}.json"


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

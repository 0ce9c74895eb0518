"""The artifact types that this pipeline adds to TFX's own."""

from tfx.types.artifact import Artifact, Property, PropertyType

EVIDENCE_FILE = "evidence.json"


class CompatibilityEvidence(Artifact):
    """Evidence for one (new version, predecessor, protocol), in `EVIDENCE_FILE`.

    `answer` is the gate's: `yes`, `no`, `undecided`, or `bootstrap` where there was
    no predecessor to be compatible with and so no evidence.
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

"""Versions of embedding models, with proof that each works with its predecessors.

Importing this package, and every command that only reads metadata, imports neither
TensorFlow nor NumPy.
"""

from registry.adapters.adapter import Adapter
from registry.aliases.alias import Alias, AliasMove
from registry.errors import (
    AdapterExistsError,
    GateRefusedError,
    IntegrityError,
    InvalidAdapterError,
    InvalidGalleryError,
    InvalidModelError,
    NameRefusedError,
    NotFoundError,
    RegistryError,
    SchemaError,
    UsageError,
    VersionExistsError,
)
from registry.evidence.edge import Edge
from registry.evidence.evidence import Evidence, MetricEvidence
from registry.evidence.measuring import measure_evidence
from registry.indices.search_index import SearchIndex
from registry.registry import Registry
from registry.versions.version import Version

__all__ = [
    "Adapter",
    "AdapterExistsError",
    "Alias",
    "AliasMove",
    "Edge",
    "Evidence",
    "GateRefusedError",
    "IntegrityError",
    "InvalidAdapterError",
    "InvalidGalleryError",
    "InvalidModelError",
    "MetricEvidence",
    "NameRefusedError",
    "NotFoundError",
    "Registry",
    "RegistryError",
    "SchemaError",
    "SearchIndex",
    "UsageError",
    "Version",
    "VersionExistsError",
    "measure_evidence",
]

"""The versions that a new one has to work with, and the adapters on the way."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator

from tfx.types.standard_artifacts import Model

from keras_bct.adapters import AdapterDescription
from registry import NotFoundError, Registry, Version
from tfx_pipeline.artifacts import AlignmentAdapter, adapter_folder


def older_versions(
    registry: Registry,
    model_name: str,
    alias: str,
    predecessor: Model,
    gallery: str = "",
) -> list[Version]:
    """The versions that the registry will ask about, the predecessor first.

    Args:
        registry: The registry.
        model_name: The name of the model.
        alias: The alias that the new version is to be promoted to.
        predecessor: The output of PredecessorResolver.
        gallery: Name of a gallery whose versions count too, as an index of it is built
            for the new version; empty for none.
    """
    name = predecessor.get_string_custom_property("version")
    older = [registry.version(name)] if name else []
    makers: list[str] = []
    for standing in registry.aliases(model_name):
        if standing.name == alias:
            older.append(standing.version)
            makers += standing.index.fingerprints if standing.index else ()
    if gallery in registry.galleries():
        makers += registry.gallery(gallery).fingerprints
    older += filter(None, map(registry.version_with, makers))
    first: dict[str, Version] = {}
    for version in older:
        first.setdefault(version.fingerprint, version)
    return list(first.values())


@dataclasses.dataclass(frozen=True)
class Older:
    """A version that a new one has to work with.

    Attributes:
        version: The version.
        adapter: Folder of the adapter that its vectors go through, None for none.
    """

    version: Version
    adapter: pathlib.Path | None


@contextlib.contextmanager
def as_served(
    registry: Registry, model_name: str, alias: str, predecessor: Model
) -> Iterator[list[Older]]:
    """Older versions with the adapters of the index that an alias serves now.

    Args:
        registry: The registry.
        model_name: The name of the model.
        alias: The alias that the new version is to be promoted to.
        predecessor: The output of PredecessorResolver.
    """
    served: dict[str, str] = {}
    for standing in registry.aliases(model_name):
        if standing.name == alias and standing.index is not None:
            served.update(standing.index.adapters)
    with contextlib.ExitStack() as stack:
        found = []
        for version in older_versions(registry, model_name, alias, predecessor):
            fingerprint = served.get(version.fingerprint)
            adapter = registry.adapter_with(fingerprint) if fingerprint else None
            folder = (
                stack.enter_context(registry.local_adapter(adapter))
                if adapter is not None
                else None
            )
            found.append(Older(version, folder))
        yield found


def through_new_adapters(registry: Registry, artifact: AlignmentAdapter) -> list[Older]:
    """Older versions with the adapters that Aligner wrote for them.

    Args:
        registry: The registry.
        artifact: The output of Aligner.
    """
    found = []
    for folder in adapters_of(artifact):
        description = AdapterDescription.read(folder)
        version = registry.version_with(description.old_fingerprint)
        if version is None:
            raise NotFoundError(
                f"{folder} maps vectors of {description.old_fingerprint[:12]}, which "
                "is not registered."
            )
        found.append(Older(version, folder))
    return found


def adapters_of(artifact: AlignmentAdapter) -> list[pathlib.Path]:
    """Folders of the adapters that Aligner wrote, the predecessor's first."""
    folders: list[pathlib.Path] = []
    while (folder := adapter_folder(artifact.uri, len(folders) + 1)).is_dir():
        folders.append(folder)
    return folders

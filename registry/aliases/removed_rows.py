"""Rows that were removed from a gallery, and older indices that still hold them."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from registry.aliases.compatibility import adapter_name
from registry.errors import RegistryError
from registry.metadata.schema import IndexRow


def brought_back(
    session: Session,
    index: IndexRow | None,
    served: IndexRow | None,
    galleries: Path | None,
    command: str,
) -> list[str]:
    """Says when serving an index may serve rows again that were removed.

    An index holds the rows of one generation of its gallery, and one of the generation
    that is served already brings none of them back. Generations are compared, not rows:
    which ones were removed is nowhere kept.

    Args:
        session: The registry's state.
        index: The index that is to be served, None for none.
        served: The one that is served now, None for none.
        galleries: Folder of the registry's galleries; None on a remote root, which has
            no indices.
        command: How the command line of this registry begins.

    Returns:
        A sentence that says how to go on, or nothing.
    """
    from registry.galleries.manifest import read_manifest

    if index is None or galleries is None:
        return []
    rows = index.gallery, index.generation
    if served is not None and (served.gallery, served.generation) == rows:
        return []
    try:
        removed = read_manifest(galleries / index.gallery)["oldest"]
    except RegistryError as error:
        return [
            f"nobody knows whether the index {index.model}#{index.number} holds rows "
            f"that were removed since: {error} Put the gallery {index.gallery} back "
            "from a copy"
        ]
    if index.generation >= removed:
        return []
    build = [command, "index", index.gallery]
    build += ["--first-components", str(index.first_components)]
    for adapter in sorted(set(index.adapters.values())):
        build += ["--through", adapter_name(session, adapter)]
    return [
        f"the index {index.model}#{index.number} is of generation {index.generation} "
        f"of the gallery {index.gallery}, from which rows were removed since "
        f"(generation {removed}): it may serve them again; build another of the rows "
        f"that are left, and name that one by --index\n      {' '.join(build)}"
    ]

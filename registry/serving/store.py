"""Serving an index with an alias, and searching it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from registry.aliases.compatibility import (
    Terms,
    Vectors,
    stranded,
    vectors_of,
    ways_to_reach,
)
from registry.errors import GateRefusedError, UsageError
from registry.indices.search_index import SearchIndex
from registry.indices.store import IndexStore
from registry.versions import registration
from registry.versions.version import Version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from registry.adapters.adapter import Adapter
    from registry.aliases.alias import Alias
    from registry.galleries.gallery import Gallery
    from registry.indices.searcher import Hit


class ServingStore(IndexStore):
    """What the aliases of a registry serve."""

    def publish_index(
        self,
        gallery: str,
        model: str,
        alias: str,
        *,
        first_components: int | None = None,
        through: Sequence[str] = (),
        leave_out: Sequence[str] = (),
        queries: npt.NDArray[np.float32] | None = None,
    ) -> SearchIndex:
        """Builds an index of a gallery and serves it with an alias.

        Rows that go through an adapter in the index that the alias serves go through it
        in the new one too.

        Args:
            gallery: Name of the gallery.
            model: Name of the model.
            alias: The alias, such as `"production"`.
            first_components: K, how many components are compared; by default as many
                as the alias's protocol says, all where it does not.
            through: Adapters such as `"glyphs:1"` that the rows of their old versions
                go through.
            leave_out: Versions such as `"glyphs/2"` whose rows it is not to hold, so
                that they are not found.
            queries: (m, d) embeddings of real queries to measure recall with;
                sampled rows by default.

        Raises:
            GateRefusedError: The gallery has vectors that the alias's version has no
                compatibility edge to.
        """
        from registry.indices.vectors import components

        standing = self.alias(f"{model}@{alias}")
        version, held = standing.version, self._rows_to_index(gallery, leave_out)
        adapters = {
            adapter.old_fingerprint: adapter
            for adapter in self._served_adapters(standing, held)
        }
        for name in through:
            adapter = self.adapter(name)
            adapters[adapter.old_fingerprint] = adapter
        if first_components is None and standing.protocol is not None:
            from registry.evidence.protocol_data import read_protocol

            # Edges hold for what the protocol compares.
            first_components = read_protocol(standing.protocol).first_components
        # Asked before an index is built that could not be served.
        size = components(
            held,
            {made_by: adapter.output_size for made_by, adapter in adapters.items()},
            first_components,
        )
        self._refuse_stranded(
            f"The gallery {gallery}",
            version,
            [
                Vectors(
                    made_by,
                    adapters[made_by].fingerprint if made_by in adapters else None,
                    rows,
                )
                for made_by, rows in sorted(held.fingerprints.items())
            ],
            Terms(version.distance, size),
            (standing, gallery),
        )
        index = self._build(
            gallery,
            model,
            list(adapters.values()),
            distance=version.distance,
            first_components=size,
            leave_out=leave_out,
            queries=queries,
        )
        self.serve_index(str(standing), index.name)
        return index

    def _served_adapters(self, alias: Alias, gallery: Gallery) -> list[Adapter]:
        """The adapters of the served index whose rows the gallery has."""
        served = alias.index.adapters if alias.index is not None else {}
        found = (
            self.adapter_with(fingerprint)
            for made_by, fingerprint in sorted(served.items())
            if made_by in gallery.fingerprints
        )
        return [adapter for adapter in found if adapter is not None]

    def _refuse_stranded(
        self,
        what: str,
        version: Version,
        vectors: Sequence[Vectors],
        terms: Terms,
        publishing: tuple[Alias, str] | None = None,
    ) -> None:
        """Raises where a version may not search vectors.

        Args:
            what: What holds them, to begin the message with.
            version: The version of the queries.
            vectors: The vectors.
            terms: How they are compared.
            publishing: The alias and the gallery whose index is to be built, which has
                other ways out than one that is there.
        """
        reasons = []
        with self.database.reading() as session:
            for held in vectors:
                for phrase in stranded(
                    session, version.fingerprint, [held], terms, command=self.command
                ):
                    reason = f"it has {phrase}"
                    if publishing is not None:
                        alias, gallery = publishing
                        reason += ways_to_reach(
                            session,
                            registration.find(session, version.model, version.number),
                            str(alias),
                            gallery,
                            held.made_by,
                            alias.protocol,
                            self.command,
                            "build an index of the others, in which they are not found",
                        )
                    reasons.append(reason)
        if reasons:
            raise GateRefusedError(f"{what} is not searched with {version}:", reasons)

    def search(
        self,
        alias: str,
        pictures: Sequence[bytes],
        *,
        k: int = 5,
        ids: Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """Finds the rows nearest to each picture.

        Args:
            alias: Such as `"glyphs@production"`; its version embeds the pictures and
                its index is searched.
            pictures: PNG or JPEG bytes.
            k: How many rows each.
            ids: What the pictures are called, for messages.

        Returns:
            For each picture its rows, nearest first.

        Raises:
            GateRefusedError: The index has vectors of a version that is neither the
                alias's own nor joined to it by a compatibility edge.
            IntegrityError: Files of the version or the index have changed.
        """
        from registry.serving.search import search_pictures

        found = self.alias(alias)
        if found.index is None:
            raise UsageError(
                f"{alias} serves no index. Publish one: "
                f"{self.command} index GALLERY --serve {alias}"
            )
        index = found.index
        self._refuse_stranded(
            str(index),
            found.version,
            vectors_of(index),
            Terms(index.distance, index.first_components),
        )
        self._verify(found.version)
        with self.local_version(found.version) as folder:
            return search_pictures(
                folder,
                found.version,
                index,
                pictures,
                [str(n) for n in range(len(pictures))] if ids is None else ids,
                k,
            )

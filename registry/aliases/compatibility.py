"""Which stored vectors a version may search."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from keras_bct.counted import counted
from registry.metadata.schema import AdapterRow, EdgeRow, IndexRow, VersionRow

_Row = TypeVar("_Row", VersionRow, AdapterRow)


@dataclass(frozen=True)
class Terms:
    """How two embeddings are compared; an edge holds for the terms of its evidence.

    Attributes:
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
        components: K, how many components are compared.
    """

    distance: str
    components: int

    def __str__(self) -> str:
        """As a part of a sentence."""
        return f"{self.distance} over {counted(self.components, 'component')}"


@dataclass(frozen=True)
class Vectors:
    """Vectors that one version made, as an index holds them.

    Attributes:
        made_by: Fingerprint of that version.
        adapter: Fingerprint of the adapter that they went through, None for none.
        rows: How many.
    """

    made_by: str
    adapter: str | None
    rows: int


class Indexed(Protocol):
    """An index: a row of the database, or what was read of one."""

    @property
    def fingerprints(self) -> Mapping[str, Any]:
        """Number of rows by the version that made them."""

    @property
    def adapters(self) -> Mapping[str, Any]:
        """The adapter that these rows went through, where they did."""


def vectors_of(index: Indexed) -> list[Vectors]:
    """The vectors of an index by the version that made them."""
    return [
        Vectors(made_by, index.adapters.get(made_by), rows)
        for made_by, rows in sorted(index.fingerprints.items())
    ]


def name_of(session: Session, fingerprint: str) -> str:
    """Name of the version with this fingerprint, the fingerprint where it has none."""
    return _named(session, VersionRow, fingerprint) or f"fingerprint:{fingerprint[:12]}"


def adapter_name(session: Session, fingerprint: str) -> str:
    """Name of the adapter with this fingerprint, the fingerprint where it has none."""
    return _named(session, AdapterRow, fingerprint) or f"adapter:{fingerprint[:12]}"


def _named(session: Session, table: type[_Row], fingerprint: str) -> str | None:
    row = session.scalars(
        select(table)
        .where(table.fingerprint == fingerprint, table.state == "registered")
        .order_by(table.id)
    ).first()
    return row.name if row else None


def stranded_in(
    session: Session, fingerprint: str, index: IndexRow, *, command: str
) -> list[str]:
    """What of an index a version may not search, as `stranded` says it.

    Args:
        session: The registry's state.
        fingerprint: The version of the queries.
        index: The index.
        command: How the command line of this registry begins.
    """
    terms = Terms(index.distance, index.first_components)
    return stranded(session, fingerprint, vectors_of(index), terms, command=command)


def stranded(
    session: Session,
    fingerprint: str,
    vectors: Iterable[Vectors],
    terms: Terms | None = None,
    *,
    command: str,
    either_way: bool = False,
) -> list[str]:
    """What a version may not search, one phrase for each version that made it.

    Its own vectors it may. Others only along a compatibility edge for the way that they
    are held in: an edge through an adapter proves nothing for vectors as they are, nor
    for another adapter. Equal sizes prove nothing, and edges are never composed.

    Args:
        session: The registry's state.
        fingerprint: The version of the queries.
        vectors: The vectors.
        terms: How an index compares them; None where nothing is compared yet.
        command: How the command line of this registry begins.
        either_way: These are a gallery's, which an index may hold in any way that is
            proven.

    Returns:
        Phrases such as `"7 vectors of glyphs/2, and there is no compatibility edge
        glyphs/1 -> glyphs/2"`.
    """
    phrases = []
    for held in vectors:
        if held.made_by == fingerprint and held.adapter is None:
            continue
        proven: dict[str | None, set[Terms]] = {}
        for edge in session.scalars(
            select(EdgeRow).where(
                EdgeRow.new_fingerprint == fingerprint,
                EdgeRow.old_fingerprint == held.made_by,
            )
        ):
            compared = Terms(edge.distance, edge.first_components)
            proven.setdefault(edge.adapter_fingerprint, set()).add(compared)
        ways = list(proven) if either_way else [held.adapter]
        fit = {found for way in ways for found in proven.get(way, ())}
        if fit and (terms is None or terms in fit):
            continue
        name = name_of(session, held.made_by)
        new_to_old = f"{name_of(session, fingerprint)} -> {name}"
        through = ""
        if held.adapter is not None:
            through = f" through {adapter_name(session, held.adapter)}"
        if fit:
            known = " and ".join(sorted(map(str, fit)))
            why = (
                f"the compatibility edge {new_to_old}{through} is proven for {known}, "
                f"not {terms}"
            )
        else:
            why = f"there is no compatibility edge {new_to_old}{through}"
            others = [way for way in proven if way not in ways]
            if others:
                why += f", only one for {words_for(session, others, command)}"
        phrases.append(f"{counted(held.rows, 'vector')} of {name}{through}, and {why}")
    return phrases


def ways_to_reach(
    session: Session,
    version: VersionRow,
    alias: str,
    gallery: str,
    made_by: str,
    protocol: str | None,
    command: str,
    otherwise: str,
) -> str:
    """How to go on where a version may not search vectors: the end of a refusal.

    Args:
        session: The registry's state.
        version: The version of the queries.
        alias: The alias that it is served by, such as `"glyphs@production"`.
        gallery: Name of the gallery that the vectors lie in.
        made_by: Fingerprint of the version that made them.
        protocol: The protocol file of the alias, None for none.
        command: How the command line of this registry begins.
        otherwise: What to do where they cannot be proven, before the index without
            them is built.
    """
    name = name_of(session, made_by)
    return (
        ". Measure whether it may search them\n"
        f"      {command} evaluate {version.name} --against {name} --protocol "
        f"{shlex.quote(protocol or 'FILE')}\n"
        f"    or {otherwise}\n"
        f"      {command} index {gallery} --serve {alias} --leave-out {name}\n"
        "    To reach them again, remove their rows and embed their pictures by "
        f"{version.name}"
    )


def words_for(session: Session, ways: Iterable[str | None], command: str) -> str:
    """Words for ways that are proven where another one is asked for.

    They say the command that builds an index of vectors in that way.

    Args:
        session: The registry's state.
        ways: Fingerprints of adapters, None for vectors as they are stored.
        command: How the command line of this registry begins.
    """
    names = {way: adapter_name(session, way) for way in ways if way is not None}
    return " or ".join(
        f"its vectors through {names[way]} (`{command} index GALLERY --through "
        f"{names[way]}`)"
        if way is not None
        else "its vectors as they are stored"
        for way in sorted(ways, key=str)
    )

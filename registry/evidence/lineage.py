"""The chain of a model's versions: who came after whom, and what is proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keras_bct.counted import counted
from registry.adapters.adapter import Adapter
from registry.aliases.alias import Alias
from registry.evidence.edge import Edge
from registry.evidence.evidence import Evidence
from registry.versions.version import Version


@dataclass(frozen=True)
class Link:
    """What is known of one version against another one.

    Attributes:
        to: Name of the version whose vectors are searched; its fingerprint where no
            version of that fingerprint is registered.
        edge: The compatibility edge, None where the gate did not pass.
        evidence: The newest evidence, or that of the edge.
        adapter: The adapter that the vectors go through, by name where it is
            registered; None for vectors as they are stored.
    """

    to: str
    edge: Edge | None
    evidence: Evidence
    adapter: str | None


@dataclass(frozen=True)
class Node:
    """A version with what is known of it.

    Attributes:
        version: The version.
        aliases: Names of the aliases that stand at it.
        links: Its edges, and the evidence that the gate refused.
    """

    version: Version
    aliases: tuple[str, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Lineage:
    """All versions of a model, by number.

    Attributes:
        model: Name of the model.
        nodes: Its versions.
        aliases: Its aliases, with the indices that they serve.
        adapters: Names of adapters by fingerprint.
    """

    model: str
    nodes: tuple[Node, ...]
    aliases: tuple[Alias, ...]
    adapters: Mapping[str, str]

    def render(self) -> str:
        """The chain as a tree of predecessors, for a terminal."""
        names = {str(node.version) for node in self.nodes}
        children: dict[str | None, list[Node]] = {}
        for node in self.nodes:
            parent = node.version.predecessor
            children.setdefault(parent if parent in names else None, []).append(node)
        lines: list[str] = []
        for root in children.get(None, []):
            lines += _draw(root, children, "", "")
        fingerprints = {node.version.fingerprint: node.version for node in self.nodes}
        lines += [_serves(alias, fingerprints, self.adapters) for alias in self.aliases]
        return "\n".join(lines)


def join(
    model: str,
    versions: Sequence[Version],
    aliases: Sequence[Alias],
    edges: Iterable[Edge],
    evidence: Iterable[Evidence],
    adapters: Iterable[Adapter],
) -> Lineage:
    """Joins what the registry knows into one chain.

    Args:
        model: Name of the model.
        versions: Its versions.
        aliases: Its aliases.
        edges: All edges.
        evidence: All evidence in which one of the versions embeds the queries.
        adapters: All adapters.
    """
    maps = {adapter.fingerprint: str(adapter) for adapter in adapters}
    names = {version.fingerprint: str(version) for version in versions}
    by_id = {item.id: item for item in evidence}
    nodes = []
    for version in versions:
        links = [
            _link(by_id[edge.evidence_id], edge, names, maps)
            for edge in edges
            if edge.new_fingerprint == version.fingerprint
        ]
        linked = {_subject(link.evidence) for link in links}
        newest = {
            _subject(item): item
            for item in by_id.values()
            if item.new_fingerprint == version.fingerprint
        }
        links += [
            _link(item, None, names, maps)
            for subject, item in newest.items()
            if subject not in linked
        ]
        nodes.append(
            Node(
                version,
                tuple(a.name for a in aliases if a.version == version),
                tuple(sorted(links, key=lambda link: link.evidence.id or 0)),
            )
        )
    return Lineage(model, tuple(nodes), tuple(aliases), maps)


def _subject(evidence: Evidence) -> tuple[str, str | None, str]:
    """What evidence is about, beside its new version; newer replaces older."""
    return (
        evidence.old_fingerprint,
        evidence.adapter_fingerprint,
        evidence.protocol_digest,
    )


def _link(
    evidence: Evidence,
    edge: Edge | None,
    names: Mapping[str, str],
    maps: Mapping[str, str],
) -> Link:
    old, adapter = evidence.old_fingerprint, evidence.adapter_fingerprint
    return Link(
        names.get(old, old),
        edge,
        evidence,
        None if adapter is None else maps.get(adapter, adapter[:12]),
    )


def _draw(
    node: Node,
    children: Mapping[str | None, list[Node]],
    first: str,
    rest: str,
) -> list[str]:
    version = node.version
    marks = "".join(f" <- {name}" for name in node.aliases)
    below = children.get(str(version), [])
    bar = "│  " if below else "   "
    lines = [
        f"{first}{version}  {counted(version.embedding_size, 'component')}, "
        f"{version.distance}, {version.fingerprint[:12]}{marks}"
    ]
    for link in node.links:
        through = "" if link.adapter is None else f" through {link.adapter}"
        if link.edge is None:
            answer = link.evidence.answer
            head = f"✗ no edge to {link.to}{through}: the gate answered {answer}"
        elif link.adapter is None:
            head = f"✓ direct edge to {link.to}"
        else:
            head = f"✓ edge to {link.to} through adapter {link.adapter}"
        lines.append(
            f"{rest}{bar}{head} ({link.evidence.protocol_name}, evidence "
            f"{link.evidence.id})"
        )
        for metric in link.evidence.metrics:
            gain = "" if metric.gain is None else f", gain {100 * metric.gain:.1f} %"
            ends = link.evidence.gain_interval(metric.metric)
            if ends is not None:
                gain += f" [{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]"
            lines.append(
                f"{rest}{bar}    {metric.metric}: M(new,old) {metric.new_old:.4f}, "
                f"M(old,old) {metric.old_old:.4f}, difference "
                f"[{metric.low:+.4f}, {metric.high:+.4f}]{gain}"
            )
        lines += [f"{rest}{bar}    ! {warning}" for warning in link.evidence.warnings]
    for child in below:
        last = child is below[-1]
        lines += _draw(
            child,
            children,
            rest + ("└─ " if last else "├─ "),
            rest + ("   " if last else "│  "),
        )
    return lines


def _serves(
    alias: Alias, versions: Mapping[str, Version], adapters: Mapping[str, str]
) -> str:
    if alias.index is None:
        return f"{alias} -> {alias.version}, no index"
    served = alias.index.adapters

    def through(made_by: str) -> str:
        if made_by not in served:
            return ""
        return f" through {adapters.get(served[made_by], served[made_by][:12])}"

    made_by = ", ".join(
        f"{counted(rows, 'vector')} of {versions.get(fingerprint, fingerprint[:12])}"
        + through(fingerprint)
        for fingerprint, rows in sorted(
            alias.index.fingerprints.items(),
            key=lambda item: (
                versions[item[0]].number if item[0] in versions else 0,
                item[0],
            ),
        )
    )
    return f"{alias} -> {alias.version}, {alias.index} ({made_by})"

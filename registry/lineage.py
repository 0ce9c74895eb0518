"""The chain of a model's versions: who came after whom, and what is proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry.alias import Alias
from registry.edge import Edge
from registry.evidence import Evidence
from registry.version import Version


@dataclass(frozen=True)
class Link:
    """What is known of one version against another one.

    Attributes:
        to: Name of the version whose vectors are searched; its fingerprint where no
            version of that fingerprint is registered.
        edge: The compatibility edge, None where the gate did not pass.
        evidence: The newest evidence, or that of the edge.
    """

    to: str
    edge: Edge | None
    evidence: Evidence


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
    """

    model: str
    nodes: tuple[Node, ...]
    aliases: tuple[Alias, ...]

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
        lines += [_serves(alias, fingerprints) for alias in self.aliases]
        return "\n".join(lines)


def join(
    model: str,
    versions: Sequence[Version],
    aliases: Sequence[Alias],
    edges: Iterable[Edge],
    evidence: Iterable[Evidence],
) -> Lineage:
    """Joins what the registry knows into one chain.

    Args:
        model: Name of the model.
        versions: Its versions.
        aliases: Its aliases.
        edges: All edges.
        evidence: All evidence in which one of the versions embeds the queries.
    """
    names = {version.fingerprint: str(version) for version in versions}
    by_id = {item.id: item for item in evidence}
    nodes = []
    for version in versions:
        links = [
            Link(
                names.get(edge.old_fingerprint, edge.old_fingerprint),
                edge,
                by_id[edge.evidence_id],
            )
            for edge in edges
            if edge.new_fingerprint == version.fingerprint
        ]
        linked = {
            (link.evidence.old_fingerprint, link.evidence.protocol_digest)
            for link in links
        }
        newest = {
            (item.old_fingerprint, item.protocol_digest): item
            for item in by_id.values()
            if item.new_fingerprint == version.fingerprint
        }
        links += [
            Link(names.get(old, old), None, item)
            for (old, digest), item in newest.items()
            if (old, digest) not in linked
        ]
        nodes.append(
            Node(
                version,
                tuple(a.name for a in aliases if a.version == version),
                tuple(sorted(links, key=lambda link: link.evidence.id or 0)),
            )
        )
    return Lineage(model, tuple(nodes), tuple(aliases))


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
        f"{first}{version}  {version.embedding_size} components, {version.distance}, "
        f"{version.fingerprint[:12]}{marks}"
    ]
    for link in node.links:
        if link.edge is None:
            head = f"✗ no edge to {link.to}: the gate answered {link.evidence.answer}"
        else:
            head = f"✓ {link.edge.kind} edge to {link.to}"
            if link.edge.adapter_fingerprint is not None:
                head += f" ({link.edge.adapter_fingerprint[:12]})"
        lines.append(
            f"{rest}{bar}{head} ({link.evidence.protocol_name}, evidence "
            f"{link.evidence.id})"
        )
        for metric in link.evidence.metrics:
            gain = "" if metric.gain is None else f", gain {100 * metric.gain:.1f} %"
            lines.append(
                f"{rest}{bar}    {metric.metric}: M(new,old) {metric.new_old:.4f}, "
                f"M(old,old) {metric.old_old:.4f}, difference "
                f"[{metric.low:+.4f}, {metric.high:+.4f}]{gain}"
            )
    for child in below:
        last = child is below[-1]
        lines += _draw(
            child,
            children,
            rest + ("└─ " if last else "├─ "),
            rest + ("   " if last else "│  "),
        )
    return lines


def _serves(alias: Alias, versions: Mapping[str, Version]) -> str:
    if alias.index is None:
        return f"{alias} -> {alias.version}, no index"
    made_by = ", ".join(
        f"{rows:,} vectors of {versions.get(fingerprint, fingerprint[:12])}"
        for fingerprint, rows in sorted(
            alias.index.fingerprints.items(),
            key=lambda item: (
                versions[item[0]].number if item[0] in versions else 0,
                item[0],
            ),
        )
    )
    return f"{alias} -> {alias.version}, {alias.index} ({made_by})"

"""What the Markdown files of all experiments have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence


def result_page(
    heading: str,
    name: str,
    title: str,
    about: str,
    *,
    seeds: int,
    complete: Sequence[str],
    picture: bool,
    sections: Iterable[str],
    reading: Iterable[str],
    provenance: Mapping[str, object],
) -> str:
    """Give the page of an experiment.

    Args:
        heading: Its first line.
        name: Of the experiment on the command line, and of its picture's file.
        title: What the picture shows.
        about: What is asked, Markdown.
        seeds: How many were asked for.
        complete: What `completeness` says.
        picture: Whether there is one.
        sections: The lines of claims and numbers.
        reading: How to read them, line by line.
        provenance: Digests and versions by name; a mapping of them is one line.
    """
    lines = [
        f"# {heading}",
        "",
        f"`python -m keras_bct.experiments {name} --seeds {seeds}`",
        "",
        about,
        "",
        *complete,
    ]
    if picture:
        lines += ["", f"![{title}]({name}.png)"]
    lines += [*sections, "", "## How to read it", "", *reading]
    lines += ["", "## Where it comes from", ""]
    for key, value in provenance.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{part} {number}" for part, number in value.items())
        lines.append(f"- {key}: {value}")
    return "\n".join(lines) + "\n"


def completeness(
    titles: Sequence[str], found: Mapping[int, Collection[str]], seeds: int
) -> list[str]:
    """Say which rows of which seeds are missing.

    Args:
        titles: All rows.
        found: By seed the titles of the rows that are in.
        seeds: How many seeds were asked for.

    Example:
        >>> completeness(["beta", "l2"], {0: ["beta", "l2"], 1: ["l2"]}, seeds=2)[2:]
        ['- seed 0: complete', '- seed 1: missing beta']
    """
    wanted = seeds * len(titles)
    in_all = sum(len(rows) for rows in found.values())
    if in_all == wanted:
        return [
            f"Every row is in, for {'one seed' if seeds == 1 else f'{seeds} seeds'}."
        ]
    lines = [f"**{in_all} of {wanted} rows are in**, counting each seed:", ""]
    for seed in range(seeds):
        missing = [title for title in titles if title not in found.get(seed, ())]
        says = "missing " + "; ".join(missing) if missing else "complete"
        lines.append(f"- seed {seed}: {says}")
    return lines

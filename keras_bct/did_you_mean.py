"""A known name in place of one that was mistyped."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """What to add to a message about an unknown name: the known one that is like it.

    Args:
        given: The unknown name.
        known: All known names.

    Returns:
        A sentence that begins with a space; empty where no name is like it.

    Example:
        >>> print("No metric 'retrieval/map'." + did_you_mean(
        ...     "retrieval/map", ["retrieval/mAP", "prototype/accuracy"]))
        No metric 'retrieval/map'. Did you mean 'retrieval/mAP'?
    """
    # Only a message about a mistake waits for it.
    import difflib

    names = sorted(set(known))
    if str(given) in names:
        return ""
    by_lower: dict[str, str] = {}
    for name in names:
        by_lower.setdefault(name.lower(), name)
    like = difflib.get_close_matches(str(given).lower(), by_lower, n=1)
    return f" Did you mean {by_lower[like[0]]!r}?" if like else ""

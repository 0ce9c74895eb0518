"""A word that is one of several."""

from __future__ import annotations

from collections.abc import Iterable

from keras_bct.did_you_mean import did_you_mean


def check_choice(argument: str, value: object, choices: Iterable[str]) -> None:
    """Raises when a value is not among the choices.

    Args:
        argument: What the value is called, for the message.
        value: The value.
        choices: What it may be.

    Raises:
        ValueError: It names the choice that is like the value.

    Example:
        >>> check_choice("distance", "cosin", ["cosine", "l2"])
        Traceback (most recent call last):
        ValueError: `distance` should be one of cosine, l2. Received: 'cosin'. Did you \
mean 'cosine'?
    """
    known = tuple(choices)
    if value not in known:
        raise ValueError(
            f"`{argument}` should be one of {', '.join(known)}. Received: {value!r}."
            f"{did_you_mean(value, known)}"
        )

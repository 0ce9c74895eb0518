"""One message for a file that is empty, half, damaged or of another kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def whole_file(kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn what a decoder raises into a ValueError that a user understands.

    Args:
        kind: What the file should be, such as `".npz"`.
        errors: What the decoder raises, beside OSError and ValueError.

    Raises:
        ValueError: The file is not whole, or of another kind.
        FileNotFoundError: It is not there; as it is raised within.

    Example:
        >>> with whole_file(".npz", EOFError):
        ...     raise EOFError("no data")
        Traceback (most recent call last):
        ValueError: a whole .npz file is expected. It is empty, cut short, damaged or
        of another kind: no data; write it anew.
    """
    decoder: tuple[type[Exception], ...] = (OSError, ValueError, *errors)
    try:
        yield
    except FileNotFoundError:
        raise
    except decoder as error:
        reason = str(error).strip().rstrip(".") or type(error).__name__
        if isinstance(error, PermissionError | IsADirectoryError):
            raise ValueError(
                f"a {kind} file that can be read is expected. Received: {reason}."
            ) from error
        raise ValueError(
            f"a whole {kind} file is expected. It is empty, cut short, damaged or of "
            f"another kind: {reason}; write it anew."
        ) from error

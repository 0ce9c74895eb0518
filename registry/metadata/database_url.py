"""The URL of a metadata database: read, and shown without its password."""

from __future__ import annotations

import re

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from registry.errors import UsageError

_SECRET = re.compile(r"([?&][^=&]*(?:pass|pwd|secret|token)[^=&]*=)[^&]*", re.I)


def parse_database_url(url: str | URL) -> URL:
    """Reads an SQLAlchemy URL.

    Raises:
        UsageError: It is none, or its password has a character that it must not.

    >>> parse_database_url("sqlite:////srv/registry.db").database
    '/srv/registry.db'
    """
    try:
        parsed = make_url(url)
        if "@" not in (parsed.host or ""):
            return parsed
    except (ArgumentError, ValueError):
        # Forgotten on purpose: the words of these errors may hold the password.
        pass
    raise UsageError(
        "Expected a database URL such as sqlite:////folder/registry.db or "
        "postgresql+psycopg://me@host/name, in which a password writes '@' as %40, "
        f"':' as %3A and '/' as %2F. Received: {without_secrets(url)!r}."
    )


def without_secrets(url: str | URL) -> str:
    """A database's URL as it may be shown and kept: its passwords are `***`.

    >>> without_secrets("postgresql+psycopg://me:secret@host/name")
    'postgresql+psycopg://me:***@host/name'
    >>> without_secrets("postgresql+psycopg://host/name?password=secret")
    'postgresql+psycopg://host/name?password=***'
    """
    if isinstance(url, URL):
        shown = url.render_as_string(hide_password=True)
    else:
        # It may be one that cannot be parsed: up to the last @ all may be password.
        shown = re.sub(r"(//[^:/?#]*):.*@", r"\1:***@", url)
    return _SECRET.sub(r"\1***", shown)

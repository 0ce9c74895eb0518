"""The registry as components open it: its root is a parameter, its database is not."""

import os
import re

from registry import Registry, UsageError

DATABASE_VARIABLE = "REGISTRY_DATABASE"
"""The environment variable that names the database to the command line, too."""


def open_registry(root: str, database_variable: str = DATABASE_VARIABLE) -> Registry:
    """Opens the registry.

    Its database is named by an environment variable where the component runs, since
    parameters are kept in MLMD, and a database's URL may hold a password.

    Args:
        root: Local folder or fsspec URL of the files.
        database_variable: Name of the variable that holds the database's SQLAlchemy
            URL. Where `REGISTRY_DATABASE` is not set it is `registry.db` in the root.

    Raises:
        UsageError: Another variable is not set, or this is no name of one.
    """
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", database_variable):
        raise UsageError(
            "`database_variable` should be the name of an environment variable that "
            "holds the database's URL, and not the URL, which would be kept in MLMD."
        )
    database = os.environ.get(database_variable) or None
    if database is None and database_variable != DATABASE_VARIABLE:
        raise UsageError(
            f"`database_variable`: the environment variable {database_variable} should "
            "hold the URL of the registry's database. Received: it is not set."
        )
    return Registry(root, database=database)

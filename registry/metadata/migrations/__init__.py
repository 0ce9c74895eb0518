"""Alembic migrations of the registry's database, packaged with it."""

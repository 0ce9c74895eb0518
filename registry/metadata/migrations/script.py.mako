"""${message}."""

import sqlalchemy as sa
from alembic import op

from registry.metadata import schema
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Brings the schema from ${down_revision} to ${up_revision}."""
    ${upgrades if upgrades else "pass"}

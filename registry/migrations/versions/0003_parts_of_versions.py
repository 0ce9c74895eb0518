"""What a version embeds by."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds columns; what is stored stays as it is."""
    op.add_column("versions", sa.Column("parts", sa.JSON()))

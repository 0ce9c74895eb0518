"""What a version embeds by, and indices and galleries that can be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds columns; what is stored stays as it is."""
    op.add_column("versions", sa.Column("parts", sa.JSON()))
    for table in ("indices", "galleries"):
        op.add_column(
            table,
            sa.Column(
                "state", sa.String(16), nullable=False, server_default="registered"
            ),
        )

"""What the registry's tables share: how Python types are stored, and common columns."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    String,
    TypeDecorator,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets time zones, so they are put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> Any:
        """Turns a moment to UTC."""
        return None if value is None else value.astimezone(timezone.utc)

    def process_result_value(
        self, value: datetime | None, dialect: object
    ) -> datetime | None:
        """Says that a moment is in UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            return value.replace(tzinfo=timezone.utc)
        return value.astimezone(timezone.utc)


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(timezone.utc)


class Base(DeclarativeBase):
    """What all tables share: how Python types are stored."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[int]: JSON,
        datetime: UtcDateTime,
        float: Double,
    }


Key = BigInteger().with_variant(Integer, "sqlite")


class ReservedNumber:
    """A number of a model that is taken before its files are there.

    It is `reserved` while they are copied, `registered` when they are whole, and
    `deleted` when they were removed again: history and evidence still name it.
    """

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    model: Mapped[str] = mapped_column(ForeignKey("models.name"))
    number: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))
    writer: Mapped[str] = mapped_column(String(400))
    """Who copies the files: see `registry.artifacts.writer`."""
    lease: Mapped[datetime]
    """Until when a writer that nobody can ask counts as alive."""
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    created: Mapped[datetime] = mapped_column(default=now)

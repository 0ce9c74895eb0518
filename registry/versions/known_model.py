"""Which models there are, and what is said about one that is not."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from keras_bct.did_you_mean import did_you_mean
from registry.errors import NotFoundError
from registry.metadata.schema import VersionRow


def known_models(session: Session) -> list[str]:
    """Names of the models that have versions."""
    query = select(VersionRow.model).where(VersionRow.state == "registered")
    return list(session.scalars(query.distinct().order_by(VersionRow.model)))


def require_model(session: Session, model: str) -> None:
    """Raises when there is no model of this name.

    Raises:
        NotFoundError: No version has it; the message names those that there are.
    """
    known = known_models(session)
    if model not in known:
        raise NotFoundError(
            f"There is no model {model!r}.{did_you_mean(model, known)} The registry "
            f"has: {', '.join(known) or 'none'}."
        )

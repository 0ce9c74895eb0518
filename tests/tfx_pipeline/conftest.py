"""The registry's toy models and pictures, for the components that use them."""

from tests.registry.conftest import (  # noqa: F401 - found by name
    empty_database,
    registry,
)
from tests.registry.toys import (  # noqa: F401 - found by name
    pictures,
    toy_adapter,
    toy_embeddings,
    toy_model,
    toy_protocol,
)

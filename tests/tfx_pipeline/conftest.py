"""The registry's toy models and pictures, for the components that use them."""

from tests.registry.conftest import (  # noqa: F401 - found by name
    empty_database,
    pictures,
    registry,
    toy_model,
    toy_protocol,
)

"""What an import loads: seconds that nobody should pay who does not need them."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "keras_bct",
        "keras_bct.adapters",
        "keras_bct.backfill",
        "keras_bct.evaluation",
        "registry",
        "registry.cli.main",
    ],
)
def test_loads_neither_tensorflow_nor_keras_nor_numba(module):
    script = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()

    assert module in loaded
    assert {"tensorflow", "keras", "numba", "scann"}.isdisjoint(loaded)

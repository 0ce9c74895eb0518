import numpy as np
import pytest


@pytest.fixture
def make_pairs():
    """Gives old and new embeddings, related by a linear map and noise."""

    def make(pairs=60, old_size=5, new_size=5, noise=0.3, seed=0, dtype=np.float64):
        generator = np.random.default_rng(seed)
        spread = np.linspace(0.5, 2.0, old_size)
        old = generator.normal(size=(pairs, old_size)) * spread + 3.0
        new = old @ generator.normal(size=(old_size, new_size)) - 1.0
        new += noise * generator.normal(size=new.shape)
        return old.astype(dtype), new.astype(dtype)

    return make


@pytest.fixture
def sides():
    return {"old_fingerprint": "old-model", "new_fingerprint": "new-model"}

"""What the tests of this room share: small protocols and small sets."""

import numpy as np
import pytest

from keras_bct.evaluation import Bootstrap, EmbeddingSet, Protocol, Source


@pytest.fixture
def make_protocol():
    """Gives a protocol of some metrics; its sources name no real file."""
    side = Source("embeddings", "set.npz")

    def make(*metrics, **options):
        options.setdefault("bootstrap", Bootstrap(replicates=200))
        return Protocol("test", side, side, metrics, **options)

    return make


@pytest.fixture
def make_set():
    """Gives a set of some labels and rows; ids are a prefix and the row."""

    def make(prefix, labels, rows, cameras=None):
        ids = [f"{prefix}{i:05}" for i in range(len(labels))]
        return EmbeddingSet(ids, labels, cameras, np.asarray(rows, np.float32))

    return make


@pytest.fixture
def make_people(make_set):
    """Gives queries and a gallery of people, each a noisy point."""

    def make(seed=0, people=30, unknown=6, components=16, noise=0.9):
        generator = np.random.default_rng(seed)
        centres = np.random.default_rng(7).normal(size=(people + unknown, components))
        asked = np.repeat(np.arange(people + unknown), 3)
        stored = np.repeat(np.arange(people), 4)

        def side(prefix, who, cameras):
            rows = centres[who] + noise * generator.normal(size=(len(who), components))
            labels = [f"person {w:03}" for w in who]
            return make_set(prefix, labels, rows, [f"camera {c}" for c in cameras])

        return (
            side("q", asked, np.arange(len(asked)) % 3),
            side("g", stored, np.arange(len(stored)) % 4),
        )

    return make


@pytest.fixture
def make_backfill(make_set):
    """Gives the old and new gallery, queries and an order."""

    def make(rows="scattered", items=70, asked=40, classes=6, seed=0):
        generator = np.random.default_rng(seed)
        stored = generator.integers(0, classes, items)
        wanted = generator.integers(0, classes + 1, asked)
        centres = generator.normal(size=(classes + 1, 4))
        sides = []
        for who, noise in ((stored, 1.0), (stored, 0.5), (wanted, 0.5)):
            rows_ = centres[who] + noise * generator.normal(size=(len(who), 4))
            if rows == "tied":
                rows_ = np.ceil(rows_) + 0.25
            if rows == "equal":
                rows_ = np.ones_like(rows_)
            sides.append(rows_)
        labels = stored.astype(str)
        return {
            "old": make_set("g", labels, sides[0]),
            "new": make_set("g", labels, sides[1]),
            "queries": make_set("q", wanted.astype(str), sides[2]),
            "order": generator.permutation(items),
        }

    return make


@pytest.fixture
def reference_scores():
    """Gives every score in float64, by the formula of the distance."""

    def score(distance, queries, gallery, first=None):
        left = queries.embeddings[:, :first].astype(np.float64)
        right = gallery.embeddings[:, :first].astype(np.float64)
        if distance == "l2":
            return -((left[:, None] - right[None]) ** 2).sum(axis=2)
        if distance == "cosine":
            left = left / np.linalg.norm(left, axis=1, keepdims=True)
            right = right / np.linalg.norm(right, axis=1, keepdims=True)
        return (left[:, None] * right[None]).sum(axis=2)

    return score

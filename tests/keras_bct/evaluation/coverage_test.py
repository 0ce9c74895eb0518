"""A 95 % interval holds the truth 93 to 97 times in 100, over 1,000 synthetic worlds.

The worlds are small draws of one population whose true difference between two models is
known: from a formula's integral for retrieval, from a far larger draw for verification.
"""

import numpy as np
import pytest

from keras_bct.evaluation.engine.bootstrap import (
    IdentityDraws,
    mean_replicates,
    percentile_interval,
)
from keras_bct.evaluation.verification.acceptance import (
    GenuineScores,
    ImpostorTail,
    share_replicates,
    threshold_at,
)
from keras_bct.evaluation.verification.verification import AllPairCounts

WORLDS = 1000
REPLICATES = 400


def covered(truth, replicates):
    low, high = percentile_interval(replicates, 0.95)
    return low <= truth <= high


@pytest.mark.slow
def test_retrieval():
    """A query's values depend on its identity, and on itself in both models alike."""

    def difference(generator, identities, queries):
        shape = (identities, queries)
        person = np.broadcast_to(generator.normal(size=(identities, 1)), shape)
        query = generator.normal(size=shape)
        change = 0.5 * generator.normal(size=(identities, 1))
        old = 1.2 + person + query
        new = 1.4 + person + 0.7 * (query + generator.normal(size=shape)) + change
        return 1 / (1 + np.exp(-new)) - 1 / (1 + np.exp(-old))

    truth = difference(np.random.default_rng(0), 1_000_000, 1).mean()
    identity = np.repeat(np.arange(200), 4)
    hits = 0
    for world in range(WORLDS):
        values = difference(np.random.default_rng([1, world]), 200, 4).ravel()
        draws = IdentityDraws(REPLICATES, world)
        hits += covered(truth, mean_replicates(values, identity, draws))

    assert 0.93 <= hits / WORLDS <= 0.97


@pytest.mark.slow
def test_verification():
    """Thresholds are estimated anew on each side; an identity is in many pairs."""
    rate, identities = 0.05, 200

    def scores(generator, people):
        centres = generator.normal(size=(people, 16)).astype(np.float32)
        gallery = centres + 0.9 * generator.normal(size=(people, 16))
        noise = generator.normal(size=(people, 16))
        other = generator.normal(size=(people, 16))
        sides = [centres + 0.9 * noise, centres + 0.56 * noise + 0.57 * other]
        gallery, *sides = (
            side / np.linalg.norm(side, axis=1, keepdims=True)
            for side in (gallery, *sides)
        )
        return [(side @ gallery.T).astype(np.float64) for side in sides]

    def accepted(values):
        off = ~np.eye(len(values), dtype=bool)
        return np.mean(np.diag(values) > np.quantile(values[off], 1 - rate))

    generator = np.random.default_rng(0)
    large = [[accepted(side) for side in scores(generator, 2000)] for _ in range(20)]
    truth = np.mean([new - old for old, new in large])
    everyone = np.arange(identities)
    first, second = np.nonzero(~np.eye(identities, dtype=bool))
    pairs = AllPairCounts(np.ones(identities, int), np.ones(identities, int))
    hits = 0
    for world in range(WORLDS):
        replicates = []
        for values in scores(np.random.default_rng([2, world]), identities):
            impostors = values[first, second]
            highest = np.argpartition(-impostors, 6000)[:6000]
            tail = ImpostorTail.sort(
                impostors[highest],
                first[highest].astype(np.int32),
                second[highest].astype(np.int32),
                complete=False,
            )
            genuine = GenuineScores(
                np.diag(values), everyone.astype(np.int32), np.ones(identities)
            )
            assert np.isfinite(threshold_at(tail, rate, pairs.total))
            share, _ = share_replicates(
                tail,
                genuine,
                (rate,),
                IdentityDraws(REPLICATES, world).blocks(identities),
                pairs.weigh,
                REPLICATES,
                2,
            )
            replicates.append(share[:, 0])
        hits += covered(truth, replicates[1] - replicates[0])

    assert 0.93 <= hits / WORLDS <= 0.97

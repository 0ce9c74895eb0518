import numpy as np
import pytest

from keras_bct.evaluation import EmbeddingSet, cross_version_matrix, measure


def test_rows_ask_and_columns_answer(make_protocol, make_people):
    versions = {f"phi{i}": make_people(seed=i, noise=1.2 - 0.3 * i) for i in (1, 2, 3)}
    protocol = make_protocol("retrieval/mAP")
    result = cross_version_matrix(protocol, versions)

    assert result.versions == ("phi1", "phi2", "phi3")
    for i, asking in enumerate(versions):
        for j, stored in enumerate(versions):
            expected = measure(protocol, versions[asking][0], versions[stored][1])
            assert (
                result.values["retrieval/mAP"][i, j]
                == (expected.values["retrieval/mAP"])
            )


def test_a_version_against_itself_takes_all_components(make_protocol, make_people):
    def widen(items):
        more = np.random.default_rng(0).normal(size=(len(items), 4))
        rows = np.hstack([items.embeddings, more.astype(np.float32)])
        return EmbeddingSet(items.ids, items.labels, None, rows)

    narrow = make_people()
    wide = tuple(widen(side) for side in narrow)
    cut = make_protocol("retrieval/mAP", first_components=16)
    result = cross_version_matrix(cut, {"narrow": narrow, "wide": wide})
    values = result.values["retrieval/mAP"]

    assert values[0, 0] == values[0, 1] == values[1, 0]
    assert (
        values[1, 1]
        == (measure(make_protocol("retrieval/mAP"), *wide).values["retrieval/mAP"])
    )
    with pytest.raises(ValueError, match="'narrow' against 'wide'"):
        cross_version_matrix(
            make_protocol("retrieval/mAP"), {"narrow": narrow, "wide": wide}
        )
    with pytest.raises(ValueError, match="at least one"):
        cross_version_matrix(cut, {})

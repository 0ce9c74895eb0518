import numpy as np
import pytest
from sklearn.metrics import roc_curve

from keras_bct.evaluation import measure
from keras_bct.evaluation.verification import acceptance, pair_list
from keras_bct.evaluation.verification.verification import ListedPairCounts

METRICS = ("verification/TAR@FAR=0.01", "verification/TAR@FAR=0.1", "verification/EER")


@pytest.fixture
def rows():
    """Some pairs of the people: 108 queries and 120 gallery items."""
    generator = np.random.default_rng(5)
    return np.stack(
        [generator.integers(0, 108, 4000), generator.integers(0, 120, 4000)], axis=1
    )


def test_listed_pairs_agree_with_scikit_learn(
    make_protocol, make_people, reference_scores, rows, monkeypatch
):
    monkeypatch.setattr(pair_list, "_PAIRS_PER_BLOCK", 300)
    monkeypatch.setattr(acceptance, "_SPARE_PAIRS", 20)
    queries, gallery = make_people()
    scores = reference_scores("cosine", queries, gallery)[tuple(rows.T)]
    same = queries.labels[rows[:, 0]] == gallery.labels[rows[:, 1]]
    false, true, _ = roc_curve(same, scores, drop_intermediate=False)

    result = measure(make_protocol(*METRICS[:2]), queries, gallery, pairs=rows)

    assert result.values[METRICS[0]] == true[false <= 0.01][-1]
    assert result.values[METRICS[1]] == true[false <= 0.1][-1]
    assert result.counts["genuine_pairs"] == same.sum()
    assert result.counts["impostor_pairs"] == (~same).sum()
    assert len(result.verification.tails[0.1].scores) < (~same).sum()
    _, far, _ = result.verification.roc()
    assert far[-1] == 1


def test_a_list_counts_its_impostors_by_identity_before_any_thread_asks():
    first, second = np.array([0, 0, 1, 2, 0]), np.array([1, 1, 1, 0, 0])
    weights = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])

    counts = ListedPairCounts.of(first.astype(np.int32), second.astype(np.int32))

    # 0-1 twice, 2-0 once; the pairs of one identity do not count.
    assert counts.total == 3
    assert counts.weigh(weights).tolist() == [2 * 1 * 2 + 3 * 1, 3]
    assert [counts.first.tolist(), counts.counts.tolist()] == [[0, 2], [2, 1]]


def test_the_list_of_all_pairs_is_all_pairs(make_protocol, make_people):
    queries, gallery = make_people()
    every = np.stack(np.indices((len(queries), len(gallery))), axis=-1).reshape(-1, 2)
    protocol = make_protocol(*METRICS)

    listed = measure(protocol, queries, gallery, pairs=every)
    whole = measure(protocol, queries, gallery)

    assert listed.values == whole.values
    for metric in METRICS:
        assert listed.replicates(metric) == pytest.approx(whole.replicates(metric))


def test_a_file_of_ids_beside_the_protocol(make_protocol, make_people, rows, tmp_path):
    queries, gallery = make_people()
    lines = [f"{queries.ids[q]},{gallery.ids[g]}" for q, g in rows]
    (tmp_path / "pairs.csv").write_text("\n".join(["query,gallery", *lines]))
    protocol = make_protocol(*METRICS, pairs="pairs.csv", directory=str(tmp_path))

    assert (
        measure(protocol, queries, gallery).values
        == measure(make_protocol(*METRICS), queries, gallery, pairs=rows).values
    )


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.zeros((0, 2), int), "`pairs` should have shape"),
        (np.zeros((3, 3), int), "`pairs` should have shape"),
        (np.array([[0, 120]]), "rows of `gallery`, 0 to 119. Received: 120"),
        (np.array([[-1, 0]]), "rows of `queries`"),
        (np.array([["q00000", "nobody"]]), "ids of `gallery`. Received: 'nobody'"),
        (np.array([[0, 50], [1, 50]]), "0 of one label and 2 of two"),
    ],
)
def test_a_wrong_list_is_refused(make_protocol, make_people, pairs, message):
    with pytest.raises(ValueError, match=message):
        measure(make_protocol(*METRICS), *make_people(), pairs=pairs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,other\na,b", "no 'gallery'; there are 'query', 'other'"),
        ("query,gallery\n", "no row"),
        ("", "a whole .csv file is expected"),
        ("query,gallery,query\na,b,c\n", "'query' should be there once"),
        ("query,gallery\na,b\na,\n", "`gallery` .*none in row 1"),
        ("query,gallery\na,b,c\n", "Expected 2 columns, got 3"),
        ("query,gallery\nä,b\n".encode("latin-1"), "`query` .*UTF-8.* row 0"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    content = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "pairs.csv").write_bytes(content)
    with pytest.raises(ValueError, match=rf"pairs\.csv.*{message}"):
        pair_list.read_pairs(tmp_path / "pairs.csv")


def test_ids_of_pairs_are_read_as_they_are(tmp_path):
    pairs = [["007", "漢字"], ["a, b", "🙂"], ["a\u2028b", "x\ny"]]
    lines = [f'"{query}","{gallery}"\n' for query, gallery in pairs]
    (tmp_path / "pairs.csv").write_bytes(("query,gallery\n" + "".join(lines)).encode())
    assert pair_list.read_pairs(tmp_path / "pairs.csv").tolist() == pairs

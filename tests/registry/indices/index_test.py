import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from registry.errors import IntegrityError, RegistryError, UsageError
from registry.galleries.gallery import Gallery
from registry.indices import recall as index_recall
from registry.indices.building import build_index
from registry.indices.manifest import verify_index
from registry.indices.searcher import Searcher

OLD = "a" * 64


def clustered(rows, size=16, seed=0):
    centres = np.random.default_rng(99).normal(size=(200, size))
    rng = np.random.default_rng(seed)
    vectors = centres[rng.integers(0, 200, rows)] + 0.5 * rng.normal(size=(rows, size))
    return vectors.astype(np.float32)


def index_of(folder, vectors, distance="cosine", first_components=None):
    gallery = Gallery.create(folder / "gallery", vectors.shape[1]).append(
        [f"row-{n}" for n in range(len(vectors))],
        vectors,
        OLD,
        labels=[f"class-{n}" for n in range(len(vectors))],
    )
    manifest = build_index(
        folder / "index",
        gallery.read(),
        gallery="kanji",
        generation=gallery.generation,
        fingerprints=gallery.fingerprints,
        distance=distance,
        first_components=first_components or vectors.shape[1],
    )
    return folder / "index", manifest


def nearest(queries, vectors, distance, k):
    """Exact search, in float64."""
    queries, vectors = queries.astype(np.float64), vectors.astype(np.float64)
    if distance == "cosine":
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = queries @ vectors.T
    if distance == "l2":
        scores = -((queries[:, None] - vectors[None]) ** 2).sum(-1)
    return [[f"row-{n}" for n in np.argsort(-row)[:k]] for row in scores]


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
def test_a_small_index_is_exact(tmp_path, distance):
    vectors, queries = clustered(300), clustered(20, seed=1)
    folder, manifest = index_of(tmp_path, vectors, distance)
    found = Searcher(folder).search(queries, k=5)
    assert [[hit.id for hit in hits] for hits in found] == nearest(
        queries, vectors, distance, 5
    )
    assert manifest.method == "brute_force"
    assert manifest.recall_at_10 == 1


def test_a_large_index_finds_nearly_all(tmp_path):
    vectors, queries = clustered(6000), clustered(100, seed=1)
    folder, manifest = index_of(tmp_path, vectors)
    found = Searcher(folder).search(queries, k=10)
    true = nearest(queries, vectors, "cosine", 10)
    recall = np.mean(
        [
            len({hit.id for hit in hits} & set(ids)) / 10
            for hits, ids in zip(found, true, strict=True)
        ]
    )
    assert manifest.method == "tree_ah"
    assert manifest.recall_at_10 >= 0.95
    assert recall >= 0.9


def test_recall_is_measured_with_the_queries_that_are_given(tmp_path):
    vectors = clustered(6000)
    gallery = Gallery.create(tmp_path / "gallery", 16).append(
        [f"row-{n}" for n in range(6000)], vectors, OLD
    )
    unlike_any_row = np.random.default_rng(1).normal(size=(200, 16))
    terms = {
        "gallery": "kanji",
        "generation": 1,
        "fingerprints": {OLD: 6000},
        "distance": "cosine",
        "first_components": 16,
    }
    easy = build_index(tmp_path / "easy", gallery.read(), **terms)
    hard = build_index(
        tmp_path / "hard",
        gallery.read(),
        queries=unlike_any_row.astype(np.float32),
        **terms,
    )
    assert hard.leaves_to_search > easy.leaves_to_search
    assert hard.recall_at_10 >= 0.95


class FindsThese:
    """Stands for ScaNN: finds the same rows for every query."""

    def __init__(self, rows):
        self.rows = rows

    def search_batched(self, queries, **terms):
        return [self.rows] * len(queries), None


class TestRecall:
    # On a line: the three nearest of 0.0 are 1, 2 and 3, and 4 is as near as 3.
    LINE = np.array([[0.0], [1.0], [2.0], [3.0], [-3.0], [9.0]], np.float32)

    def trial(self, monkeypatch, neighbors):
        monkeypatch.setattr(index_recall, "NEIGHBORS", neighbors)
        return index_recall.Trial.of(self.LINE, np.zeros((2, 1), np.float32), "l2")

    @pytest.mark.parametrize(
        ("found", "recall"),
        [
            ([0, 1, 2, 3], 1),
            ([0, 1, 2, 4], 1),
            ([0, 1, 2, 5], 3 / 4),
            ([5, 4, 3, 2], 3 / 4),
            ([0, 0, 0, 0], 1 / 4),
            ([], 0),
        ],
    )
    def test_is_the_share_of_the_nearest_and_a_tie_is_found(
        self, monkeypatch, found, recall
    ):
        trial = self.trial(monkeypatch, 4)
        assert trial.recall(FindsThese(np.array(found)), None, None) == recall

    def test_a_row_that_is_the_query_is_left_out(self, monkeypatch):
        monkeypatch.setattr(index_recall, "NEIGHBORS", 1)
        pairs = np.array([[0.0], [0.1], [5.0], [5.1]], np.float32)
        trial = index_recall.Trial.of(pairs, None, "l2")
        # Rows 0 and 1 are each other's nearest; for rows 2 and 3 it finds neither.
        assert trial.recall(FindsThese(np.array([0, 1])), None, None) == 1 / 2

    def test_rows_that_are_all_equal_are_all_found(self, tmp_path):
        vectors = np.ones((5000, 4), np.float32)
        _, manifest = index_of(tmp_path, vectors, "l2")
        assert (manifest.method, manifest.recall_at_10) == ("tree_ah", 1)


class TestATreeThatIsNotGoodEnough:
    def outlier(self, factor):
        vectors = np.random.default_rng(0).normal(size=(5000, 16)).astype(np.float32)
        vectors[7] *= factor
        return vectors

    def test_is_replaced_by_exact_search_which_the_manifest_says(self, tmp_path):
        vectors = self.outlier(100)
        folder, manifest = index_of(tmp_path, vectors, "l2")
        assert (manifest.method, manifest.recall_at_10) == ("brute_force", 1)
        assert manifest.tree_recall_at_10 < 0.95
        assert "since a tree came to 0." in manifest.how()
        queries = vectors[:20]
        found = Searcher(folder).search(queries, k=10)
        assert [[hit.id for hit in hits] for hits in found] == nearest(
            queries, vectors, "l2", 10
        )

    @pytest.mark.parametrize(
        ("distance", "factor"), [("l2", 1e20), ("inner_product", 1e20)]
    )
    def test_is_not_tried_where_squares_leave_the_range_of_float32(
        self, tmp_path, distance, factor
    ):
        """ScaNN ends the process there."""
        vectors = self.outlier(factor)
        folder, manifest = index_of(tmp_path, vectors, distance)
        assert (manifest.method, manifest.tree_recall_at_10) == ("brute_force", None)
        # All others are equally far from the long one, as far as float64 can tell.
        queries = vectors[:7]
        found = Searcher(folder).search(queries, k=50)
        assert [[hit.id for hit in hits] for hits in found] == nearest(
            queries, vectors, distance, 50
        )

    def test_more_rows_are_reordered_before_that(self, tmp_path, monkeypatch):
        asked = []

        def recall(self, searcher, leaves, reorder):
            asked.append((leaves, reorder))
            return 0.96 if reorder > 100 else 0.5

        monkeypatch.setattr(index_recall.Trial, "recall", recall)
        _, manifest = index_of(tmp_path, clustered(5000))
        assert asked == [
            (7, 100),
            (14, 100),
            (28, 100),
            (56, 100),
            (70, 100),
            (70, 400),
        ]
        assert (manifest.method, manifest.recall_at_10) == ("tree_ah", 0.96)
        assert manifest.how() == "70 of 70 leaves, 400 rows reordered"

    @pytest.mark.parametrize("target", [0, 1.5])
    def test_a_recall_that_none_has_is_not_asked_for(self, tmp_path, target):
        gallery = Gallery.create(tmp_path / "gallery", 4)
        gallery = gallery.append(["a"], np.ones((1, 4), np.float32), OLD)
        with pytest.raises(UsageError, match="target_recall"):
            build_index(
                tmp_path / "index",
                gallery.read(),
                gallery="kanji",
                generation=1,
                fingerprints={OLD: 1},
                distance="l2",
                first_components=4,
                target_recall=target,
            )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A searcher through a tree, and its vectors."""
    vectors = clustered(5000)
    folder, manifest = index_of(tmp_path_factory.mktemp("tree"), vectors, "l2")
    assert manifest.method == "tree_ah"
    return Searcher(folder), vectors


class TestManyNeighbours:
    @pytest.mark.parametrize("k", [500, 4999, 5000, 6000])
    def test_all_that_were_asked_for_come_nearest_first(self, tree, k):
        searcher, vectors = tree
        queries = clustered(3, seed=1)
        found = searcher.search(queries, k=k)
        assert [len(hits) for hits in found] == [min(k, 5000)] * 3
        # Distances, since rows that are equally near may change places.
        true = np.sort(((queries[:, None] - vectors[None]) ** 2).sum(-1), axis=1)
        np.testing.assert_allclose(
            [[hit.score for hit in hits] for hits in found], true[:, :k], rtol=1e-4
        )

    @pytest.mark.parametrize("k", [20, 50, 100])
    def test_some_more_are_found_as_surely_as_ten(self, tree, k):
        searcher, vectors = tree
        queries = clustered(50, seed=1)
        found = searcher.search(queries, k=k)
        true = nearest(queries, vectors, "l2", k)
        shares = [
            len({hit.id for hit in hits} & set(ids)) / k
            for hits, ids in zip(found, true, strict=True)
        ]
        assert np.mean(shares) >= 0.95

    def test_a_tree_that_finds_too_few_is_not_asked_alone(self, tree, monkeypatch):
        searcher, vectors = tree

        class FindsOne:
            def search_batched(self, queries, final_num_neighbors, **terms):
                rows = np.zeros((len(queries), final_num_neighbors), np.uint32)
                near = np.full(rows.shape, np.nan)
                near[:, 0] = 0
                return rows, near

        monkeypatch.setattr(searcher, "_tree", FindsOne())
        queries = clustered(2, seed=1)
        found = searcher.search(queries, k=5)
        assert [[hit.id for hit in hits] for hits in found] == nearest(
            queries, vectors, "l2", 5
        )

    @pytest.mark.parametrize("factor", [1e20, 1e-30])
    def test_queries_beyond_the_range_of_a_tree_are_searched_exactly(
        self, tree, factor
    ):
        searcher, vectors = tree
        queries = (clustered(2, seed=1) * factor).astype(np.float32)
        found = searcher.search(queries, k=5)
        # The query's own square is left out, which would swallow all else.
        wide = vectors.astype(np.float64)
        scores = 2 * queries.astype(np.float64) @ wide.T - (wide**2).sum(1)
        assert {hit.id for hit in found[0]} == {
            f"row-{n}" for n in np.argsort(-scores[0])[:5]
        }


@pytest.mark.parametrize("length", [1e25, 1e-25, 1e38])
@pytest.mark.parametrize("rows", [40, 4500])
def test_cosine_does_not_know_how_long_vectors_are(tmp_path, length, rows):
    vectors = clustered(rows)
    vectors /= np.abs(vectors).max()
    queries = clustered(6, seed=1)
    queries /= np.abs(queries).max()
    folder, _ = index_of(tmp_path, (vectors * length).astype(np.float32))
    found = Searcher(folder).search((queries * length).astype(np.float32), k=3)
    true = nearest(queries, vectors, "cosine", 3)
    if rows == 40:
        assert [[hit.id for hit in hits] for hits in found] == true
    else:
        pairs = zip(found, true, strict=True)
        shares = [len({hit.id for hit in hits} & set(ids)) / 3 for hits, ids in pairs]
        assert np.mean(shares) >= 0.9


def test_an_index_of_an_earlier_release_is_searched(tmp_path):
    folder, _ = index_of(tmp_path, clustered(30))
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["reorder"], content["tree_recall_at_10"]
    path.write_text(json.dumps({**content, "schema": 2}))
    assert len(Searcher(folder).search(clustered(1), k=3)[0]) == 3


def test_a_disk_that_is_too_small_is_said_before_the_work(tmp_path, monkeypatch):
    from registry.indices import building as index_building

    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(index_building.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(RegistryError, match=r"takes 1,920 bytes.*has 1,000 left"):
        index_of(tmp_path, clustered(30))


def test_scores_are_those_of_the_distance(tmp_path):
    vectors = np.array([[3.0, 4.0], [0.0, 2.0]], np.float32)
    query = np.array([[0.0, 1.0]], np.float32)
    expected = {
        "cosine": {"row-0": 0.8, "row-1": 1.0},
        "inner_product": {"row-0": 4.0, "row-1": 2.0},
        "l2": {"row-0": 18.0, "row-1": 1.0},
    }
    for distance, scores in expected.items():
        (tmp_path / distance).mkdir()
        folder, _ = index_of(tmp_path / distance, vectors, distance)
        (hits,) = Searcher(folder).search(query, k=2)
        assert {hit.id: hit.score for hit in hits} == pytest.approx(scores, abs=1e-5)


def test_a_hit_tells_what_the_gallery_knows(tmp_path):
    folder, _ = index_of(tmp_path, clustered(5))
    hit = Searcher(folder).search(clustered(5)[2:3], k=1)[0][0]
    assert (hit.id, hit.label, hit.camera, hit.fingerprint) == (
        "row-2",
        "class-2",
        None,
        OLD,
    )


@pytest.mark.parametrize("rows", [1, 3])
def test_fewer_rows_than_asked_for(tmp_path, rows):
    folder, manifest = index_of(tmp_path, clustered(rows))
    assert manifest.rows == rows
    assert len(Searcher(folder).search(clustered(2, seed=1), k=10)[1]) == rows


def test_only_the_first_components_count(tmp_path):
    vectors = clustered(50)
    folder, _ = index_of(tmp_path, vectors, first_components=8)
    noisy = vectors[:5].copy()
    noisy[:, 8:] = 1e6
    found = Searcher(folder).search(noisy, k=1)
    assert [hits[0].id for hits in found] == [f"row-{n}" for n in range(5)]


def test_a_vector_of_zeros_is_no_error(tmp_path):
    vectors = clustered(20)
    vectors[3] = 0
    folder, _ = index_of(tmp_path, vectors)
    assert Searcher(folder).search(vectors[:1], k=1)[0][0].id == "row-0"


@pytest.mark.parametrize("rows", [30, 5000])
def test_an_index_can_be_moved(tmp_path, rows):
    vectors = clustered(rows)
    folder, _ = index_of(tmp_path, vectors)
    before = Searcher(folder).search(vectors[:3], k=3)
    moved = shutil.move(folder, tmp_path / "elsewhere with spaces")
    assert Searcher(tmp_path / moved).search(vectors[:3], k=3) == before


def test_no_rows_make_no_index(tmp_path):
    gallery = Gallery.create(tmp_path / "gallery", 4)
    with pytest.raises(UsageError, match="no rows"):
        build_index(
            tmp_path / "index",
            gallery.read(),
            gallery="kanji",
            generation=0,
            fingerprints={},
            distance="cosine",
            first_components=4,
        )


@pytest.mark.parametrize(
    ("queries", "k"),
    [
        (np.ones((1, 7)), 1),
        (np.ones(16), 1),
        (np.ones((1, 16)), 0),
        (np.full((1, 16), np.nan), 1),
        (np.full((1, 16), 1e300), 1),
    ],
)
def test_queries_that_do_not_fit_are_refused(tmp_path, queries, k):
    folder, _ = index_of(tmp_path, clustered(5))
    with pytest.raises(UsageError):
        Searcher(folder).search(queries, k=k)


def remove_rows(folder):
    (folder / "rows.arrow").unlink()


def change_a_vector(folder):
    path = next((folder / "scann").glob("*dataset*.npy"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def point_elsewhere(folder):
    path = folder / "scann" / "scann_assets.pbtxt"
    path.write_text(path.read_text().replace('path: "', 'path: "/nowhere/'))


def add_a_pickle(folder):
    (folder / "scann" / "scann_docids.pkl").write_bytes(b"cos\nsystem\n")


def cut_the_manifest(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text()[:50])


@pytest.mark.parametrize(
    "damage",
    [remove_rows, change_a_vector, point_elsewhere, add_a_pickle, cut_the_manifest],
)
def test_a_damaged_index_is_not_handed_to_scann(tmp_path, damage):
    folder, _ = index_of(tmp_path, clustered(30))
    damage(folder)
    with pytest.raises(IntegrityError) as damaged:
        Searcher(folder)
    assert len(damaged.value.files) == 1


def test_another_manifest_than_the_registry_knows_is_found(tmp_path):
    folder, _ = index_of(tmp_path, clustered(30))
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "distance": "l2"}))
    assert verify_index(folder) == []
    assert verify_index(folder, "0" * 64) == ["manifest.json: content changed"]


def test_an_array_that_was_written_in_part_is_no_index(tmp_path, monkeypatch):
    """As ScaNN leaves it on a full disk, without a word."""
    from registry.indices import building as index_building

    check = index_building._refuse_cut_short

    def cut(folder):
        path = folder / "dataset.npy"
        path.write_bytes(path.read_bytes()[:-100])
        check(folder)

    monkeypatch.setattr(index_building, "_refuse_cut_short", cut)
    with pytest.raises(RegistryError, match=r"dataset\.npy.*is the disk full"):
        index_of(tmp_path, clustered(30))


class TestBuilding:
    @pytest.fixture
    def filled(self, registry, make_model, fill_gallery):
        registry.register("glyphs", make_model("a"))
        fill_gallery("kanji", "glyphs/1")
        return registry

    def left(self, registry):
        return sorted(p.name for p in registry.root.path("indices", "glyphs").iterdir())

    @pytest.mark.parametrize(
        ("instant", "left_behind"),
        [
            ("index_building._refuse_cut_short", ".building-"),
            ("index_store.sync_folder", "1"),
        ],
        ids=["while it is written", "in its place, before the database knows it"],
    )
    def test_what_a_killed_build_left_is_cleared_by_the_next(
        self, filled, environment, instant, left_behind
    ):
        script = (
            "import os, signal, sys\n"
            "from registry import Registry\n"
            "from registry.indices import building as index_building\n"
            "from registry.indices import store as index_store\n"
            "die = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
            f"{instant} = die\n"
            "Registry(sys.argv[1]).build_index('kanji', 'glyphs')\n"
        )
        argv = [sys.executable, "-c", script, filled.root.url]
        assert subprocess.run(argv, env=environment).returncode == -signal.SIGKILL
        assert any(name.startswith(left_behind) for name in self.left(filled))
        assert filled.indices() == []
        index = filled.build_index("kanji", "glyphs")
        assert index.name == "glyphs#1"
        assert self.left(filled) == [".lock", "1"]
        assert filled.verify()[f"index {index}"] == []

    def test_two_at_once_do_not_clear_each_other_away(self, filled, monkeypatch):
        from registry.indices import building as index_building

        check = index_building._refuse_cut_short

        def meanwhile(folder):
            monkeypatch.setattr(index_building, "_refuse_cut_short", check)
            filled.build_index("kanji", "glyphs")
            check(folder)

        monkeypatch.setattr(index_building, "_refuse_cut_short", meanwhile)
        assert filled.build_index("kanji", "glyphs").name == "glyphs#2"
        assert self.left(filled) == [".lock", "1", "2"]
        assert all(bad == [] for bad in filled.verify().values())

    def test_beside_a_removal_the_rows_that_are_left_are_indexed(
        self, filled, monkeypatch
    ):
        from registry.galleries.segment import Segment

        damage = Segment.damage

        def meanwhile(self, *rest):
            monkeypatch.setattr(Segment, "damage", damage)
            filled.remove_rows("kanji", ["row-0", "row-1"])
            return damage(self, *rest)

        monkeypatch.setattr(Segment, "damage", meanwhile)
        index = filled.build_index("kanji")
        assert (index.generation, index.rows) == (2, 18)

    def test_rows_that_are_removed_while_it_is_built_are_not_in_it(
        self, filled, monkeypatch
    ):
        from registry.indices import building as index_building

        check = index_building._refuse_cut_short

        def meanwhile(folder):
            monkeypatch.setattr(index_building, "_refuse_cut_short", check)
            filled.remove_rows("kanji", ["row-0"])
            check(folder)

        monkeypatch.setattr(index_building, "_refuse_cut_short", meanwhile)
        assert filled.build_index("kanji").rows == 19

    def test_a_removal_beside_verify_is_no_damage(self, filled, monkeypatch):
        from registry.galleries.segment import Segment

        damage = Segment.damage

        def meanwhile(self, *rest):
            monkeypatch.setattr(Segment, "damage", damage)
            filled.remove_rows("kanji", ["row-0"])
            return damage(self, *rest)

        monkeypatch.setattr(Segment, "damage", meanwhile)
        assert filled.verify()["gallery kanji"] == []

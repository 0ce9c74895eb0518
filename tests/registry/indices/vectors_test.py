"""Rows that go through an adapter into an index."""

import numpy as np
import pytest

from keras_bct.adapters import AffineMap, OldToNew
from registry import NotFoundError, RegistryError, UsageError
from registry.indices.searcher import Searcher


class TestIndex:
    def test_holds_what_the_adapter_makes_of_the_rows(self, served):
        from keras_bct.adapters import load_adapter

        gallery = served.gallery("kanji")
        index = served.build_index("kanji", through=["glyphs:1"])
        with served.local_adapter(served.adapter("glyphs:1")) as folder:
            mapped = load_adapter(folder).transform(gallery.read().embeddings)
        searcher = Searcher(served.root.path("indices", "glyphs", str(index.number)))
        for row, hits in enumerate(searcher.search(mapped, k=1)):
            assert hits[0].id == f"row-{row}"
            assert hits[0].score == pytest.approx(1, abs=1e-5)
            assert hits[0].adapter == served.adapter("glyphs:1").fingerprint

    def test_says_which_adapter_made_what_of_whose_rows(self, served):
        index = served.build_index("kanji", through=["glyphs:1"])
        old = served.version("glyphs/1").fingerprint
        assert index.adapters == {old: served.adapter("glyphs:1").fingerprint}
        assert index.fingerprints == {old: 20}
        assert served.index(index.name) == index

    def test_leaves_the_gallery_as_it_is(self, served):
        before = served.gallery("kanji")
        served.build_index("kanji", through=["glyphs:1"])
        assert served.gallery("kanji") == before
        assert not any(served.verify().values())

    def test_is_the_same_in_blocks_of_any_size(self, served, fill_gallery, monkeypatch):
        from registry.adapters.files import open_adapter
        from registry.indices import vectors as index_vectors

        gallery = fill_gallery("kanji", "glyphs/2", rows=5, start=100)
        gallery = fill_gallery("kanji", "glyphs/1", rows=9, start=200)
        adapter = served.adapter("glyphs:1")
        old = adapter.old_fingerprint
        with served.local_adapter(adapter) as folder:
            opened = open_adapter(folder, old)
        through = {
            old: index_vectors.Transform("glyphs:1", adapter.fingerprint, opened)
        }
        expected = np.concatenate(
            [
                opened.transform(gallery.read(old).embeddings[:20]),
                gallery.read(adapter.new_fingerprint).embeddings,
                opened.transform(gallery.read(old).embeddings[20:]),
            ]
        )[:, :40]
        for rows in (1, 7, 1000):
            monkeypatch.setattr(index_vectors, "_BLOCK", rows)
            told = []
            made = index_vectors.index_vectors(
                gallery.read(), 40, "l2", through, told.append, gallery="kanji"
            )
            np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)
            assert sum(told) == 34 * 64 * 4
            assert max(told) <= rows * 64 * 4

    def test_takes_one_adapter_for_the_rows_of_a_version(self, served, make_adapter):
        served.add_adapter(make_adapter("other", seed=1))
        with pytest.raises(UsageError, match="Received: glyphs:2 and glyphs:1"):
            served.build_index("kanji", through=["glyphs:1", "glyphs:2"])

    def test_takes_no_adapter_of_rows_that_are_not_there(self, served, make_adapter):
        served.add_adapter(make_adapter("from 2 to 3", "glyphs/3", "glyphs/2"))
        with pytest.raises(UsageError, match="glyphs/2, of which the gallery kanji"):
            served.build_index("kanji", through=["glyphs:2"])

    def test_takes_no_adapter_from_new_to_old(self, served, make_model, make_adapter):
        served.register("glyphs", make_model("narrow", size=16))
        back = make_adapter("back", "glyphs/4", sizes=(16, 64), backward=True)
        served.add_adapter(back)
        with pytest.raises(UsageError, match=r"old to new.*new-to-old"):
            served.build_index("kanji", through=["glyphs:2"])

    def test_takes_no_adapter_that_is_not_there(self, served):
        with pytest.raises(NotFoundError, match="glyphs:5"):
            served.build_index("kanji", through=["glyphs:5"])

    def test_does_not_compare_rows_of_different_sizes_unasked(
        self, served, make_model, make_adapter, fill_gallery
    ):
        served.register("glyphs", make_model("narrow", size=16))
        served.add_adapter(make_adapter("narrowing", "glyphs/4"))
        fill_gallery("kanji", "glyphs/2", start=100)
        with pytest.raises(UsageError, match=r"first_components.*16 and 64"):
            served.build_index("kanji", through=["glyphs:2"])
        index = served.build_index("kanji", through=["glyphs:2"], first_components=16)
        assert (index.first_components, index.rows) == (16, 40)

    @pytest.mark.parametrize("size", [0, -1, 65])
    @pytest.mark.parametrize("through", [[], ["glyphs:1"]], ids=["stored", "mapped"])
    def test_compares_as_many_components_as_there_are(self, served, size, through):
        with pytest.raises(UsageError, match=rf"1 to 64.*Received: {size}\."):
            served.build_index("kanji", through=through, first_components=size)
        with pytest.raises(UsageError, match=rf"1 to 64.*Received: {size}\."):
            served.publish_index("kanji", "glyphs", "production", first_components=size)

    def test_that_maps_to_nothing_finite_is_not_published(
        self, served, prove, tmp_path
    ):
        old, new = (served.version(f"glyphs/{n}").fingerprint for n in (1, 2))
        OldToNew(
            map=AffineMap(np.full((64, 64), 1e38), np.zeros(64)),
            method="by hand",
            pairs=0,
            old_fingerprint=old,
            new_fingerprint=new,
        ).save(tmp_path / "huge")
        served.add_adapter(tmp_path / "huge")
        prove("glyphs/2", "glyphs/1", "glyphs:2")
        served.promote("glyphs/2", "production", force=True, reason="a trial")
        before = served.indices()
        said = "in the gallery kanji cannot go through glyphs:2: .*infinity"
        with pytest.raises(RegistryError, match=said):
            served.build_index("kanji", through=["glyphs:2"])
        with pytest.raises(RegistryError, match=said):
            served.publish_index("kanji", "glyphs", "production", through=["glyphs:2"])
        assert served.indices() == before

    def test_takes_no_rows_of_which_the_gallery_stores_a_part(self, served, prove):
        """A narrower gallery keeps the first components of a wider version's rows."""
        served.create_gallery("small", "glyphs", 32)
        served.gallery("small").append(
            ["a", "b"], np.ones((2, 32)), served.version("glyphs/1").fingerprint
        )
        prove("glyphs/2", "glyphs/1", "glyphs:1")
        served.promote("glyphs/2", "production", force=True, reason="a trial")
        before = served.indices()
        said = (
            r"glyphs:1 \(--through\) maps vectors of 64 components\. Received: the "
            "gallery small, which stores the first 32 of glyphs/1"
        )
        with pytest.raises(UsageError, match=said):
            served.build_index("small", through=["glyphs:1"])
        with pytest.raises(UsageError, match=said):
            served.publish_index("small", "glyphs", "production", through=["glyphs:1"])
        assert served.indices() == before

    def test_compares_rows_of_the_adapter_s_space_beside_mapped_ones(
        self, served, make_model, make_adapter
    ):
        """Across sizes: old rows are widened, new ones are stored whole."""
        served.register("glyphs", make_model("wide", size=96))
        served.add_adapter(make_adapter("widening", "glyphs/4"))
        new = np.random.default_rng(7).normal(size=(3, 96)).astype(np.float32)
        served.gallery("kanji").append(
            ["x", "y", "z"],
            new,
            served.version("glyphs/4").fingerprint,
            embedding_size=96,
        )
        index = served.build_index("kanji", through=["glyphs:2"])
        assert (index.first_components, index.rows) == (96, 23)
        searcher = Searcher(served.root.path("indices", "glyphs", str(index.number)))
        assert [hits[0].id for hits in searcher.search(new, k=1)] == ["x", "y", "z"]
        # As they are stored the gallery's own components are what all rows have.
        assert served.build_index("kanji").first_components == 64

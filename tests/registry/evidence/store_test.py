import pytest

from keras_bct.adapters import AffineMap
from registry import UsageError


class TestEdges:
    def test_are_written_only_when_the_gate_passes(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.1))
        assert three.edges() == []
        passed = three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        (edge,) = three.edges()
        assert (edge.kind, edge.evidence_id) == ("direct", passed.id)
        assert edge.new_fingerprint == three.version("glyphs/2").fingerprint
        assert edge.old_fingerprint == three.version("glyphs/1").fingerprint

    def test_are_taken_away_by_newer_evidence(self, three, make_evidence):
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
        three.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.1))
        assert three.edges() == []


class TestEdgesThroughAnAdapter:
    def test_name_the_adapter(self, served, prove):
        evidence = prove("glyphs/2", "glyphs/1", "glyphs:1")
        (edge,) = served.edges()
        assert (edge.kind, edge.evidence_id) == ("through adapter", evidence.id)
        assert edge.adapter_fingerprint == served.adapter("glyphs:1").fingerprint
        assert served.evidence(evidence.id) == evidence

    def test_are_one_for_each_way(self, served, prove, make_adapter):
        served.add_adapter(make_adapter("other", seed=1))
        for way in (None, "glyphs:1", "glyphs:2", "glyphs:1"):
            prove("glyphs/2", "glyphs/1", way)
        assert len(served.edges()) == 3
        prove("glyphs/2", "glyphs/1", "glyphs:1", difference=-0.1)
        left = {edge.adapter_fingerprint for edge in served.edges()}
        assert left == {None, served.adapter("glyphs:2").fingerprint}

    def test_are_not_written_when_the_gate_does_not_pass(self, served, prove):
        prove("glyphs/2", "glyphs/1", "glyphs:1", difference=0.001)
        assert served.edges() == []

    def test_need_a_registered_adapter_of_that_old_version(
        self, served, make_evidence, prove
    ):
        for old, adapter in [
            ("glyphs/1", "f" * 64),
            ("glyphs/3", served.adapter("glyphs:1").fingerprint),
        ]:
            evidence = make_evidence("glyphs/2", old, adapter_fingerprint=adapter)
            with pytest.raises(UsageError, match="`adapter_fingerprint`"):
                served.add_evidence(evidence)
        assert served.edges() == []

    @pytest.mark.parametrize(
        ("new", "old"), [("glyphs/2", "glyphs/1"), ("glyphs/1", "glyphs/2")]
    )
    @pytest.mark.parametrize("difference", [0.1, -0.1])
    def test_need_an_adapter_that_stored_vectors_go_through(
        self, served, make_adapter, make_evidence, new, old, difference
    ):
        """One from new to old maps queries, whichever side is called the old one."""
        backward = served.add_adapter(make_adapter("backward", backward=True))
        evidence = make_evidence(
            new,
            old,
            adapter_fingerprint=backward.fingerprint,
            difference=difference,
        )
        with pytest.raises(UsageError, match="`adapter_fingerprint`"):
            served.add_evidence(evidence)
        assert served.edges() == []
        assert served.evidence_through(backward) == []

    def test_say_which_adapter_maps_the_other_way(
        self, served, make_adapter, make_evidence
    ):
        backward = served.add_adapter(make_adapter("backward", backward=True))
        evidence = make_evidence(
            "glyphs/2", "glyphs/1", adapter_fingerprint=backward.fingerprint
        )
        with pytest.raises(
            UsageError, match=r"from old to new.*glyphs:2, which is new-to-old"
        ):
            served.add_evidence(evidence)

    def test_need_an_adapter_that_takes_vectors_alone(
        self, served, make_adapter, make_evidence, monkeypatch
    ):
        """Galleries store no side information, so nothing could serve this edge."""
        monkeypatch.setattr(AffineMap, "side_size", 3)
        sided = served.add_adapter(make_adapter("sided"))
        evidence = make_evidence(
            "glyphs/2", "glyphs/1", adapter_fingerprint=sided.fingerprint
        )
        with pytest.raises(
            UsageError, match=r"glyphs:2, which takes side information of 3 comp"
        ):
            served.add_evidence(evidence)
        assert served.edges() == []

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

def test_the_chain_shows_edges_refusals_and_aliases(
    registry, make_model, make_evidence, fill_gallery, protocol
):
    registry.register("glyphs", make_model("a"))
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    fill_gallery("kanji", "glyphs/1")
    registry.publish_index("kanji", "glyphs", "production")
    for name in "bc":
        registry.register("glyphs", make_model(name), predecessor="glyphs@production")
    registry.add_evidence(make_evidence("glyphs/2", "glyphs/1", difference=-0.7))
    registry.add_evidence(make_evidence("glyphs/3", "glyphs/1", gain=0.5))
    registry.promote("glyphs/3", "production", require_compatible=True)

    one, two, three = (registry.version(f"glyphs/{n}").fingerprint[:12] for n in "123")
    assert registry.lineage("glyphs").render().splitlines() == [
        f"glyphs/1  64 components, cosine, {one}",
        f"├─ glyphs/2  64 components, cosine, {two}",
        "│     ✗ no edge to glyphs/1: the gate answered no (kanji, evidence 1)",
        "│         retrieval/mAP: M(new,old) 0.1000, M(old,old) 0.8000, difference "
        "[-0.7039, -0.6961]",
        f"└─ glyphs/3  64 components, cosine, {three} <- production",
        "      ✓ direct edge to glyphs/1 (kanji, evidence 2)",
        "          retrieval/mAP: M(new,old) 0.8500, M(old,old) 0.8000, difference "
        "[+0.0461, +0.0539], gain 50.0 % [49.6, 50.4]",
        "glyphs@production -> glyphs/3, glyphs#1 (20 vectors of glyphs/1)",
    ]


def test_a_chain_of_three_goes_deeper_each_time(registry, make_model):
    registry.register("glyphs", make_model("a"))
    registry.register("glyphs", make_model("b"), predecessor="glyphs/1")
    registry.register("glyphs", make_model("c"), predecessor="glyphs/2")
    lines = registry.lineage("glyphs").render().splitlines()
    assert [line.split("  ")[0] + "|" for line in lines[:2]] == [
        "glyphs/1|",
        "└─ glyphs/2|",
    ]
    assert lines[2].startswith("   └─ glyphs/3")

"""Evidence from outside: out of a pipeline's artifact, or made by hand."""

import dataclasses

import pytest

from registry import UsageError


@pytest.fixture
def two(registry, make_model):
    for name in "ab":
        registry.register("glyphs", make_model(name))
    return registry


def test_an_answer_that_does_not_follow_writes_no_edge(two, make_evidence):
    bad = make_evidence("glyphs/2", "glyphs/1", difference=-0.3, answer="yes")
    with pytest.raises(UsageError, match=r"`answer`.*answers no.*'yes'"):
        two.add_evidence(bad)
    assert two.edges() == []
    assert two.evidence_of(two.version("glyphs/2")) == []


@pytest.mark.parametrize("name", ["old_old", "new_old", "new_new", "low", "high"])
def test_a_number_that_is_none_is_named(two, make_evidence, name):
    good = make_evidence("glyphs/2", "glyphs/1")
    metric = dataclasses.replace(good.metrics[0], **{name: float("nan")})
    with pytest.raises(UsageError, match=f"`{name}` of retrieval/mAP"):
        two.add_evidence(dataclasses.replace(good, metrics=(metric,)))


@pytest.mark.parametrize("names", [[], ["retrieval/mAP"] * 2, ["retrieval/CMC@1"]])
def test_metrics_are_those_that_were_compared(two, make_evidence, names):
    good = make_evidence("glyphs/2", "glyphs/1")
    metrics = tuple(dataclasses.replace(good.metrics[0], metric=name) for name in names)
    with pytest.raises(UsageError, match=r"`metrics` should be .*retrieval/mAP"):
        two.add_evidence(dataclasses.replace(good, metrics=metrics))
    assert two.edges() == []


@pytest.mark.parametrize("size", [-1, 0, 65, 10000])
def test_components_are_those_that_both_sides_have(two, make_evidence, size):
    bad = make_evidence("glyphs/2", "glyphs/1", first_components=size)
    with pytest.raises(UsageError, match=rf"`first_components` .*Received: {size}\."):
        two.add_evidence(bad)
    assert two.edges() == []


@pytest.mark.parametrize(
    ("sizes", "most"), [((64, 16), 16), ((64, 96), 96), ((96, 64), 64)]
)
def test_components_of_mapped_rows_are_those_that_the_map_gives(
    registry, make_model, make_adapter, make_evidence, sizes, most
):
    for name, size in zip("ab", sizes, strict=True):
        registry.register("glyphs", make_model(name, size=size))
    adapter = registry.add_adapter(make_adapter("ridge")).fingerprint
    for size in (most, most + 1):
        evidence = make_evidence(
            "glyphs/2",
            "glyphs/1",
            adapter_fingerprint=adapter,
            first_components=size,
        )
        if size > most:
            with pytest.raises(UsageError, match=f"at most {most}"):
                registry.add_evidence(evidence)
        else:
            registry.add_evidence(evidence)
    assert len(registry.edges()) == 1


def test_no_edge_leads_from_a_version_to_itself(two, make_adapter, make_evidence):
    adapter = two.add_adapter(make_adapter("ridge")).fingerprint
    for terms in (
        {},
        {"adapter_fingerprint": adapter},
        {"adapter_fingerprint": adapter, "difference": -0.1},
    ):
        with pytest.raises(UsageError, match="should be of two versions"):
            two.add_evidence(make_evidence("glyphs/1", "glyphs/1", **terms))
    assert two.edges() == []
    assert two.evidence_of(two.version("glyphs/1")) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metrics": {"a": 1}}'])
def test_a_comparison_that_is_none_is_refused(two, make_evidence, text):
    bad = make_evidence("glyphs/2", "glyphs/1", comparison=text)
    with pytest.raises(UsageError, match="`comparison`"):
        two.add_evidence(bad)

import pytest

from keras_bct.evaluation import Gate, Protocol, Source

# The example of the design, word for word.
WHOLE = """
name: kanji-test
queries: {source: tfrecord, path: test-queries*.tfrecord, id: id, label: char, \
camera: typeface, template: null}
gallery: {source: gallery, path: kanji/gallery, id: id, label: char, \
camera: typeface, template: null}
distance: cosine            # l2, cosine, inner_product
first_components: null      # K, or null for equal sizes
exclude: [self]             # self, same_camera, junk
metrics: [retrieval/mAP, "verification/TAR@FAR=0.001", "identification/TPIR@FPIR=0.01"]
gate:
  metrics: [retrieval/mAP]  # every one must pass
  confidence: 0.95
  min_gain: null            # needs a paragon
bootstrap: {replicates: 2000, seed: 0, unit: identity}
"""
SHORT = """
metrics: [retrieval/mAP, "verification/TAR@FAR=0.001", "identification/TPIR@FPIR=0.01"]
gallery: {path: kanji/gallery, source: gallery, label: char, camera: typeface}
queries: {path: test-queries*.tfrecord, source: tfrecord, label: char, camera: typeface}
name: kanji-test
"""


def read(tmp_path, text):
    path = tmp_path / "protocol.yaml"
    path.write_text(text)
    return Protocol.from_yaml(path)


def test_a_file_is_read_with_every_key(tmp_path):
    protocol = read(tmp_path, WHOLE)

    assert protocol.name == "kanji-test"
    assert protocol.queries == Source(
        "tfrecord", "test-queries*.tfrecord", "id", "char", "typeface", None
    )
    assert protocol.gallery.source == "gallery"
    assert protocol.distance == "cosine"
    assert protocol.exclude == ("self",)
    assert protocol.gate == Gate(("retrieval/mAP",), 0.95, None)
    assert protocol.bootstrap.replicates == 2000


def test_defaults_fill_what_is_left_out(tmp_path):
    whole, short = read(tmp_path, WHOLE), read(tmp_path, SHORT)

    assert short.to_mapping() == whole.to_mapping()
    assert short.gate_metrics == ("retrieval/mAP",)


def test_the_digest_is_that_of_the_content(tmp_path):
    digest = read(tmp_path, WHOLE).digest()
    (tmp_path / "elsewhere").mkdir()

    assert len(digest) == 64
    assert read(tmp_path / "elsewhere", SHORT).digest() == digest
    assert read(tmp_path, WHOLE.replace("seed: 0", "seed: 1")).digest() != digest


def test_paths_start_at_the_file(tmp_path):
    protocol = read(tmp_path, WHOLE)

    assert protocol.locate("x.npz") == str(tmp_path.resolve() / "x.npz")
    assert protocol.locate("/data/x.npz") == "/data/x.npz"
    assert protocol.locate("s3://bucket/x.npz") == "s3://bucket/x.npz"


def test_without_mean_average_precision_the_first_metric_is_the_gate(tmp_path):
    text = SHORT.replace("retrieval/mAP, ", "")

    assert read(tmp_path, text).gate_metrics == ("verification/TAR@FAR=0.001",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: kanji-test", "name: x\ncolour: red", "unknown key 'colour'"),
        ("name: kanji-test", "name: x\ndirectory: /", "directory"),
        ("id: id, ", "id: id, ids: id, ", "ids"),
        ("name: kanji-test", "", 'missing value for field "name"'),
        ("[retrieval/mAP,", "[retrieval/MAP,", "known metrics"),
        ("distance: cosine", "distance: cosinus", "`distance` should be one of"),
        ("exclude: [self]", "exclude: [others]", "`exclude` should be one of"),
        ("first_components: null", "first_components: 0", "at least 1"),
        ("metrics: [retrieval/mAP]", "metrics: [retrieval/CMC@1]", "among the"),
        ("confidence: 0.95", "confidence: 95", "`confidence` should lie"),
        ("replicates: 2000", "replicates: 10", "at least 100"),
        ("replicates: 2000", "replicates: many", "int"),
        ("confidence: 0.95", "confidence: 0.9999", r"2 / \(1 - confidence\)"),
        ("min_gain: null", "min_gain: .nan", "`min_gain` should be finite"),
        ("seed: 0", "seed: -1", "negative"),
        ("unit: identity", "unit: pair", "`unit` should be one of"),
        ("source: gallery", "source: csv", "`source` should be one of"),
        ("path: kanji/gallery", "path: ''", "`path`"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, old, new, message):
    assert old in WHOLE
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path, WHOLE.replace(old, new))
    assert "protocol.yaml" in str(error.value)


def test_a_gate_on_a_falling_metric_is_refused(tmp_path):
    text = WHOLE.replace("[retrieval/mAP", "[verification/EER")

    with pytest.raises(ValueError, match=r"`gate\.metrics` should .* that rise"):
        read(tmp_path, text)


def test_without_a_gate_the_first_metric_that_rises_is_taken(tmp_path):
    text = SHORT.replace("[retrieval/mAP", "[verification/EER")

    assert read(tmp_path, text).gate_metrics == ("verification/TAR@FAR=0.001",)


def test_metrics_that_no_gate_can_read_are_refused_as_metrics(tmp_path):
    text = SHORT.replace(SHORT.splitlines()[1], "metrics: [verification/EER]")

    with pytest.raises(ValueError, match="`metrics` should have one that rises") as e:
        read(tmp_path, text)
    assert "gate.metrics" not in str(e.value)


@pytest.mark.parametrize("text", ["- a list", "just text", "a: [", ""])
def test_what_is_no_protocol_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match=r"protocol\.yaml"):
        read(tmp_path, text)

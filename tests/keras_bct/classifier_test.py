import json

import numpy as np
import pytest

from keras_bct.classifier import Classifier, synthesize


def small(**changes):
    fields = {
        "kind": "cosface",
        "weights": [[1.0, 0.0], [0.0, 2.0]],
        "class_names": ("ka", "ki"),
        "scale": 24.0,
        "margin": 0.3,
    }
    return Classifier(**{**fields, **changes})


def test_comes_back_as_it_was_saved(tmp_path):
    before = small(class_names=("亜", "唖"))
    before.save(tmp_path)
    after = Classifier.load(tmp_path)
    np.testing.assert_array_equal(after.weights, np.float32([[1, 0], [0, 2]]))
    assert after.class_names == ("亜", "唖")
    assert (after.kind, after.scale, after.margin) == ("cosface", 24.0, 0.3)
    assert after.bias is None


def test_bias_comes_back_and_does_not_outlive_it(tmp_path):
    softmax = {"kind": "softmax", "scale": None, "margin": None}
    small(bias=[0.5, -0.5], **softmax).save(tmp_path)
    np.testing.assert_array_equal(Classifier.load(tmp_path).bias, [0.5, -0.5])
    small(**softmax).save(tmp_path)
    assert Classifier.load(tmp_path).bias is None
    assert not (tmp_path / "classifier_bias.npy").exists()


def test_nothing_is_pickled(tmp_path):
    small().save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "classifier.json",
        "classifier_weights.npy",
    ]
    np.save(tmp_path / "classifier_weights.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        Classifier.load(tmp_path)


def test_classes_are_joined_by_name():
    labels = small().labels(["ki", "ku", "ka"])
    assert labels.tolist() == [1, -1, 0]
    assert labels.dtype == np.int32


def test_weights_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        small().weights[0] = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "cosine"}, "`kind` should be one of"),
        ({"weights": [[1.0, 0.0]]}, "one row for each"),
        ({"weights": [1.0, 0.0]}, "2 dimensions"),
        ({"weights": [[1.0, np.nan], [0.0, 1.0]]}, "finite"),
        ({"weights": [[1.0, 0.0], [0.0, 0.0]]}, "row of class 'ki' is zero"),
        ({"weights": [[1.0, 0.0]], "class_names": ("ka",)}, "at least two classes"),
        ({"class_names": ("ka", "ka")}, r"unique.*\['ka'\]"),
        ({"bias": [0.0, 0.0]}, "`bias` belongs to kind 'softmax'"),
        ({"kind": "softmax", "bias": [0.0]}, "one value a class"),
        ({"scale": np.inf}, "`scale` should be"),
        ({"margin": -0.1}, "`margin` should be"),
    ],
)
def test_refuses_what_does_not_fit_together(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_refuses_a_newer_schema(tmp_path):
    small().save(tmp_path)
    path = tmp_path / "classifier.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2}))
    with pytest.raises(ValueError, match="schema 1"):
        Classifier.load(tmp_path)


def test_refuses_an_unknown_key(tmp_path):
    small().save(tmp_path)
    path = tmp_path / "classifier.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "red"}))
    with pytest.raises(ValueError, match="colour"):
        Classifier.load(tmp_path)


def test_says_where_a_version_keeps_its_classifier(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"assets\.extra"):
        Classifier.load(tmp_path)


class TestFromEmbeddings:
    def test_every_class_gets_the_direction_of_its_mean_embedding(self):
        old = Classifier.from_embeddings(
            [[0.0, 5.0], [6.0, 0.0], [0.0, 8.0]],
            ["ki", "ka", "ka"],
            kind="arcface",
            scale=30.0,
            margin=0.5,
        )
        assert old.class_names == ("ka", "ki")
        np.testing.assert_allclose(old.weights, [[0.6, 0.8], [0.0, 1.0]], rtol=1e-6)
        assert (old.kind, old.scale, old.margin) == ("arcface", 30.0, 0.5)

    def test_form_with_inner_products_is_refused(self):
        with pytest.raises(ValueError, match="direction and no length"):
            Classifier.from_embeddings(
                np.eye(2), ["ka", "ki"], kind="softmax", scale=None, margin=None
            )


class TestSynthesize:
    def test_unseen_class_gets_the_direction_of_its_mean_embedding(self):
        embeddings = [[9.0, 9.0], [6.0, 0.0], [0.0, 8.0]]
        wider = synthesize(small(), embeddings, ["ka", "ku", "ku"])
        assert wider.class_names == ("ka", "ki", "ku")
        np.testing.assert_array_equal(wider.weights[:2], small().weights)
        np.testing.assert_allclose(wider.weights[2], [0.6, 0.8], rtol=1e-6)
        assert (wider.kind, wider.scale, wider.margin) == ("cosface", 24.0, 0.3)

    def test_softmax_rows_get_the_mean_length_and_the_mean_bias(self):
        old = small(kind="softmax", scale=None, margin=None, bias=[0.5, 1.5])
        wider = synthesize(old, [[6.0, 0.0], [0.0, 8.0]], ["ku", "ku"])
        # The old rows have the lengths 1 and 2.
        np.testing.assert_allclose(wider.weights[2], [0.9, 1.2], rtol=1e-6)
        np.testing.assert_allclose(wider.bias, [0.5, 1.5, 1.0])

    def test_order_of_the_images_does_not_matter(self):
        embeddings, names = np.eye(2), ["ke", "ku"]
        forwards = synthesize(small(), embeddings, names)
        backwards = synthesize(small(), embeddings[::-1], names[::-1])
        assert forwards.class_names == backwards.class_names
        np.testing.assert_array_equal(forwards.weights, backwards.weights)

    def test_without_unseen_classes_nothing_changes(self):
        old = small()
        assert synthesize(old, [[1.0, 1.0]], ["ka"]) is old

    @pytest.mark.parametrize(
        ("embeddings", "labels", "message"),
        [
            ([[1.0, 0.0, 0.0]], ["ku"], r"shape \(n, 2\)"),
            ([[1.0, 0.0]], ["ku", "ke"], r"shape \(1, 2\) and 2 labels"),
            ([[np.nan, 0.0]], ["ku"], "NaN or infinity in class 'ku'"),
            ([[1.0, 0.0], [-1.0, 0.0]], ["ku", "ku"], "class 'ku' is zero"),
        ],
    )
    def test_refuses_embeddings_that_do_not_fit(self, embeddings, labels, message):
        with pytest.raises(ValueError, match=message):
            synthesize(small(), embeddings, labels)


NAMES_AS_TENSORFLOW_GIVES_THEM = {
    "list of bytes": [b"ka", "亜".encode()],
    "array of objects": np.array([b"ka", "亜".encode()], object),
    "array of bytes": np.array([b"ka", "亜".encode()]),
}


@pytest.mark.parametrize(
    "names",
    NAMES_AS_TENSORFLOW_GIVES_THEM.values(),
    ids=NAMES_AS_TENSORFLOW_GIVES_THEM,
)
def test_class_names_in_bytes_are_the_same_classes(names):
    classifier = small(class_names=("亜", "ka"))
    assert classifier.labels(names).tolist() == [1, 0]
    assert small(class_names=names).class_names == ("ka", "亜")
    made = Classifier.from_embeddings(np.eye(2), names, scale=24.0, margin=0.3)
    assert made.class_names == ("ka", "亜")
    assert synthesize(classifier, np.eye(2), names) is classifier


def test_whole_numbers_name_classes_with_and_without_a_gap_beside_them():
    classifier = small(class_names=("1", "2"))
    assert classifier.labels([2, 1]).tolist() == [1, 0]
    assert classifier.labels(np.array([2.0, np.nan, 1.0])).tolist() == [1, -1, 0]


def test_names_of_which_none_is_a_class_are_not_taken_silently():
    with pytest.warns(UserWarning, match=r"None of 2 `names`.*'b'ka''|\"b'ka'\".*'ka'"):
        assert small().labels(["b'ka'", "b'ki'"]).tolist() == [-1, -1]


def test_an_unlabelled_item_has_no_row():
    assert small().labels(["ki", None, "", b""]).tolist() == [1, -1, -1, -1]


@pytest.mark.parametrize("missing", [None, "", b"", float("nan")])
def test_a_class_has_a_name(missing):
    with pytest.raises(ValueError, match=r"`class_names`.*row 1"):
        small(class_names=("ka", missing))
    with pytest.raises(ValueError, match=r"`labels`.*row 1"):
        Classifier.from_embeddings(np.eye(2), ["ka", missing], scale=24.0, margin=0.3)
    with pytest.raises(ValueError, match=r"`labels`.*row 0"):
        synthesize(small(), np.eye(2), [missing, "ku"])


def test_one_name_alone_is_no_column_of_names():
    with pytest.raises(ValueError, match="`names` should be a column"):
        small().labels("ka")

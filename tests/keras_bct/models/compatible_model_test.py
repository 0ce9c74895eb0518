import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bct.classifier import Classifier
from keras_bct.layers import CosineHead
from keras_bct.losses import L2, CosFace, Distillation, Influence, for_classifier
from keras_bct.models import compatible_model

NAMES = tuple("abcde")


def old_classifier(size=3):
    rows = np.random.default_rng(0).normal(size=(5, size))
    return Classifier("cosface", rows, NAMES, scale=10.0, margin=0.2)


def backbone(size=4):
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(size, kernel_initializer=keras.initializers.Ones()),
        ]
    )


def compiled(old=None, **options):
    model = compatible_model(backbone(), CosineHead(8, seed=0), old)
    loss = {"new": CosFace(scale=10.0, margin=0.2)}
    if old is not None:
        loss["old"] = Influence(for_classifier(old))
    model.compile(keras.optimizers.SGD(0.1), loss=loss, **options)
    return model


def batch(seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 8, 16)
    old_labels = np.where(labels < 5, labels, -1)
    pictures = rng.normal(size=(16, 6)).astype("float32")
    return pictures, {"new": labels, "old": old_labels}


def test_outputs_are_new_and_old():
    model = compatible_model(backbone(), CosineHead(8), old_classifier())
    outputs = model(batch()[0])
    assert {name: tuple(output.shape) for name, output in outputs.items()} == {
        "new": (16, 8),
        "old": (16, 5),
    }


def test_without_an_old_classifier_there_is_only_new():
    model = compatible_model(backbone(), CosineHead(8))
    assert list(model.output) == ["new"]


def test_backbone_itself_is_trained():
    network = backbone()
    before = network.get_weights()[0]
    model = compatible_model(network, CosineHead(8), old_classifier())
    assert not any("old_classifier" in w.path for w in model.trainable_weights)
    model.compile("sgd", loss={"new": CosFace(scale=10.0, margin=0.2), "old": None})
    pictures, labels = batch()
    model.fit(pictures, {"new": labels["new"], "old": labels["old"]}, verbose=0)
    assert not np.array_equal(network.get_weights()[0], before)


def test_fit_lowers_both_losses():
    model = compiled(old_classifier(), loss_weights={"new": 1.0, "old": 0.5})
    pictures, labels = batch()
    history = model.fit(pictures, labels, batch_size=16, epochs=30, verbose=0).history
    assert history["new_loss"][-1] < history["new_loss"][0]
    assert history["old_loss"][-1] < history["old_loss"][0]
    np.testing.assert_allclose(
        history["loss"],
        np.add(history["new_loss"], np.multiply(0.5, history["old_loss"])),
        rtol=1e-5,
    )


def test_old_rows_stay_as_they_were():
    old = old_classifier()
    model = compiled(old)
    pictures, labels = batch()
    model.fit(pictures, labels, epochs=3, verbose=0)
    frozen = model.get_layer("old_classifier").classifier
    np.testing.assert_array_equal(frozen.weights, old.weights)


def test_label_outside_the_head_does_not_train():
    model = compiled(old_classifier(), jit_compile=False)
    pictures, labels = batch()
    labels["new"] = labels["new"] + 1
    labels["new"][3] = 8
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match="outside the head"):
        model.fit(pictures, labels, batch_size=16, verbose=0)
    for weight, was in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, was)


def test_trains_on_from_a_keras_file_as_if_never_saved(tmp_path):
    model = compiled(old_classifier())
    pictures, labels = batch()
    model.fit(pictures, labels, batch_size=16, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for each in (model, again):
        each.fit(pictures, labels, batch_size=16, epochs=2, verbose=0)
    for weight, wanted in zip(again.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(weight, wanted, atol=1e-7)


@pytest.mark.parametrize(
    ("policy", "jit_compile"),
    [("float32", True), ("mixed_float16", False), ("mixed_bfloat16", True)],
)
def test_fits_under_every_policy_and_compiler(policy, jit_compile):
    keras.config.set_dtype_policy(policy)
    try:
        model = compiled(old_classifier(), jit_compile=jit_compile)
    finally:
        keras.config.set_dtype_policy("float32")
    pictures, labels = batch()
    history = model.fit(pictures, labels, batch_size=16, epochs=20, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    assert history["loss"][-1] < history["loss"][0]


class TestTerms:
    """What compares old and new embeddings, beside the influence loss."""

    OLD = np.random.default_rng(5).normal(size=(16, 3)).astype("float32")

    def test_stored_old_embeddings_are_a_second_input(self):
        model = compatible_model(
            backbone(),
            CosineHead(8),
            old_classifier(),
            terms=("distillation", "embeddings"),
        )
        assert set(model.input) == {"image", "old_embedding"}
        outputs = model({"image": batch()[0], "old_embedding": self.OLD})
        shapes = {name: tuple(output.shape) for name, output in outputs.items()}
        assert shapes["distillation"] == (16, 2, 5)
        assert shapes["embeddings"] == (16, 2, 3)
        np.testing.assert_array_equal(outputs["embeddings"][:, 0], self.OLD)
        np.testing.assert_allclose(
            outputs["distillation"][:, 1], outputs["old"], atol=1e-6
        )

    @pytest.mark.slow
    def test_old_model_and_stored_embeddings_train_alike(self):
        old_model = keras.layers.Dense(3, use_bias=False, trainable=False)
        pictures, labels = batch()
        stored = np.asarray(old_model(pictures))
        labels = {**labels, "distillation": labels["new"], "embeddings": labels["old"]}
        weights = []
        for how in ("run", "stored"):
            model = compatible_model(
                backbone(),
                CosineHead(8, seed=0),
                old_classifier(),
                terms=("distillation", "embeddings"),
                old_model=old_model if how == "run" else None,
            )
            inner = for_classifier(old_classifier())
            model.compile(
                keras.optimizers.SGD(0.1),
                loss={
                    "new": CosFace(scale=10.0, margin=0.2),
                    "old": Influence(inner),
                    "distillation": Distillation(inner, temperature=2.0),
                    "embeddings": L2(),
                },
            )
            inputs = {"image": pictures, "old_embedding": stored}
            model.fit(
                pictures if how == "run" else inputs,
                labels,
                batch_size=16,
                epochs=3,
                verbose=0,
            )
            weights.append([weight.numpy() for weight in model.trainable_weights])
        for run, read in zip(*weights, strict=True):
            np.testing.assert_allclose(run, read, atol=1e-6)

    def test_l2_draws_the_new_embedding_to_the_old_one(self):
        model = compatible_model(
            backbone(3), CosineHead(8), terms=("embeddings",), old_embedding_size=3
        )
        model.compile(
            keras.optimizers.Adam(0.05),
            loss={"new": CosFace(scale=10.0, margin=0.2), "embeddings": L2()},
            loss_weights={"new": 0.0, "embeddings": 1.0},
        )
        pictures, labels = batch()
        old = pictures @ np.random.default_rng(6).normal(size=(6, 3))
        data = tf.data.Dataset.from_tensors(
            (
                {"image": pictures, "old_embedding": old},
                {"new": labels["new"], "embeddings": labels["new"]},
            )
        )
        model.fit(data.repeat(300), verbose=0)
        embeddings = model({"image": pictures, "old_embedding": old})["embeddings"]
        np.testing.assert_allclose(embeddings[:, 1], old, atol=0.05)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"terms": ("kd",)}, r"`terms` should be among.*\['kd'\]"),
            ({"terms": ("embeddings",)}, "`old_embedding_size`"),
            ({"terms": ("distillation",)}, "needs one old classifier"),
        ],
    )
    def test_terms_that_lack_what_they_need_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            compatible_model(backbone(), CosineHead(8), **options)


def test_several_old_classifiers_have_an_output_each():
    model = compatible_model(
        backbone(), CosineHead(8), {"old": old_classifier(), "older": old_classifier(2)}
    )
    outputs = model(batch()[0])
    assert set(outputs) == {"new", "old", "older"}


def test_old_classifiers_output_may_not_hide_another():
    with pytest.raises(ValueError, match="should not be named 'new'"):
        compatible_model(backbone(), CosineHead(8), {"new": old_classifier()})


def test_learned_map_of_sizes_takes_the_place_of_the_first_components():
    to_old = keras.layers.Dense(5, use_bias=False)
    model = compatible_model(
        backbone(), CosineHead(8), old_classifier(size=5), size_map=to_old
    )
    assert model(batch()[0])["old"].shape == (16, 5)
    assert any(weight is to_old.kernel for weight in model.trainable_weights)


def test_old_classifier_wider_than_the_embedding_is_refused():
    with pytest.raises(ValueError, match="takes 5 components, but `backbone` gives 4"):
        compatible_model(backbone(), CosineHead(8), old_classifier(size=5))


def test_backbone_must_give_one_embedding():
    network = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Conv2D(4, 3)])
    with pytest.raises(ValueError, match=r"shape \(batch, d\)"):
        compatible_model(network, CosineHead(8))


def unknown(labels):
    return {"new": labels["new"], "old": np.full(16, -1)}


@pytest.mark.parametrize("epochs", [1, 50])
def test_fit_refuses_samples_of_which_none_has_an_old_label(epochs):
    model = compiled(old_classifier(), jit_compile=False)
    pictures, labels = batch()
    ended = []
    watch = keras.callbacks.LambdaCallback(on_epoch_end=lambda n, _: ended.append(n))
    with pytest.raises(ValueError, match=r"-1.*Classifier|old_classifier.labels"):
        model.fit(pictures, unknown(labels), epochs=epochs, verbose=0, callbacks=watch)
    # One pass over the samples is enough to know.
    assert len(ended) <= 1


def test_fit_refuses_the_class_names_that_tensorflow_spells_otherwise():
    old = old_classifier()
    model = compiled(old, jit_compile=False)
    pictures, labels = batch()
    names = [f"b'{NAMES[label % 5]}'" for label in labels["new"]]
    with pytest.warns(UserWarning, match="None of 16 `names` is a class"):
        labels["old"] = old.labels(names)
    with pytest.raises(ValueError, match="Some sample should have an old label"):
        model.fit(pictures, labels, verbose=0)


def test_endless_batches_are_refused_at_the_end_where_an_epoch_is_no_pass():
    model = compiled(old_classifier(), jit_compile=False)
    pictures, labels = batch()
    endless = tf.data.Dataset.from_tensors((pictures, unknown(labels))).repeat()
    with pytest.raises(ValueError, match="Some sample should have an old label"):
        model.fit(endless, steps_per_epoch=1, epochs=3, verbose=0)


def test_an_epoch_of_few_steps_may_lack_the_old_classes():
    model = compiled(old_classifier(), jit_compile=False)
    pictures, labels = batch()
    endless = (
        tf.data.Dataset.from_tensors((pictures, unknown(labels)))
        .concatenate(tf.data.Dataset.from_tensors((pictures, labels)))
        .repeat()
    )
    history = model.fit(endless, steps_per_epoch=1, epochs=3, verbose=0).history
    known = np.mean(labels["old"] >= 0)
    np.testing.assert_allclose(history["old_share"], [0, known, 0], rtol=1e-6)


@pytest.mark.parametrize("loss", [L2(), Distillation(CosFace(scale=10.0, margin=0.2))])
def test_old_embeddings_that_no_sample_is_compared_with_are_refused(loss):
    model = compatible_model(
        backbone(), CosineHead(8), terms=("embeddings",), old_embedding_size=3
    )
    model.compile(
        loss={"new": CosFace(scale=10.0, margin=0.2), "embeddings": loss},
        jit_compile=False,
    )
    pictures, labels = batch()
    inputs = {"image": pictures, "old_embedding": np.ones((16, 3), "float32")}
    targets = {"new": labels["new"], "embeddings": np.full(16, -1)}
    with pytest.raises(ValueError, match="Some sample should have an old label"):
        model.fit(inputs, targets, verbose=0)


def test_without_a_predecessor_nothing_asks_for_old_labels():
    model = compiled()
    pictures, labels = batch()
    history = model.fit(pictures, {"new": labels["new"]}, verbose=0).history
    assert "old_share" not in history


def test_evaluate_says_how_many_have_an_old_label():
    model = compiled(old_classifier(), jit_compile=False)
    pictures, labels = batch()
    values = model.evaluate(pictures, labels, verbose=0, return_dict=True)
    np.testing.assert_allclose(values["old_share"], np.mean(labels["new"] < 5))

import dataclasses

import keras
import numpy as np
import pytest

from keras_bct.adapters import Ridge
from keras_bct.alignment import (
    AlignmentRecipe,
    FreezeBatchStatistics,
    fit_alignment,
    residual_recipe,
)
from keras_bct.alignment.compiled_model import compiled_model
from keras_bct.alignment.stored_pairs import StoredPairs
from keras_bct.classifier import Classifier
from keras_bct.losses import FastFill, NormSoftmax

ITEMS, OLD, NEW = 120, 4, 6
RNG = np.random.default_rng(0)
LABELS = [f"class {row % 6}" for row in range(ITEMS)]
OLD_ROWS = RNG.normal(size=(ITEMS, OLD)).astype(np.float32)
NEW_ROWS = np.tanh(OLD_ROWS @ RNG.normal(size=(OLD, NEW))).astype(np.float32)
CLASSIFIER = Classifier(
    "cosface",
    RNG.normal(size=(6, NEW)),
    tuple(f"class {row}" for row in range(6)),
    scale=8.0,
    margin=0.2,
)
SMALL = AlignmentRecipe(hidden_size=16, epochs=12, warm_up_epochs=1, batch_size=32)
FCT = dataclasses.replace(SMALL, discriminative_weight=0.0, uncertainty="none")


def error(model, rows=slice(None)):
    aligned, _ = model.transform(OLD_ROWS[rows])
    return float(((aligned - NEW_ROWS[rows]) ** 2).mean())


def test_fct_learns_the_map():
    long = dataclasses.replace(FCT, epochs=60, learning_rate=5e-3)
    assert error(fit_alignment(long, OLD_ROWS, NEW_ROWS)) < 0.2 * NEW_ROWS.var()


@pytest.mark.slow
def test_same_seed_same_map():
    first, second = (
        fit_alignment(SMALL, OLD_ROWS, NEW_ROWS, labels=LABELS, classifier=CLASSIFIER)
        for _ in range(2)
    )
    for one, other in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_batch_statistics_are_left_in_the_middle():
    model = fit_alignment(FCT, OLD_ROWS, NEW_ROWS)
    assert not model.alignment_map.batch_statistics


@pytest.mark.slow
def test_moving_averages_stand_still_after_the_switch():
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            normal = self.model.alignment_map.old_1.normalise
            seen.append(keras.ops.convert_to_numpy(normal.moving_mean).copy())

    pairs = StoredPairs.of(FCT, OLD_ROWS, NEW_ROWS, None, None, None)
    model = compiled_model(FCT, pairs, 3)
    batches = pairs.dataset().batch(40)
    callbacks = [FreezeBatchStatistics(3), Watch()]
    model.fit(batches, epochs=6, callbacks=callbacks, verbose=0)
    assert not np.allclose(seen[0], seen[2])
    np.testing.assert_array_equal(seen[2], seen[5])


def test_learning_rate_rises_and_falls_to_zero():
    pairs = StoredPairs.of(FCT, OLD_ROWS, NEW_ROWS, None, None, None)
    schedule = compiled_model(FCT, pairs, 10).optimizer._learning_rate
    rates = [float(schedule(step)) for step in (0, 5, 10, 65, 120)]
    assert rates == pytest.approx([0, 2.5e-4, 5e-4, 2.5e-4, 0], abs=1e-8)


def test_without_a_classifier_the_mean_new_embeddings_take_its_place():
    pairs = StoredPairs.of(SMALL, OLD_ROWS, NEW_ROWS, LABELS, None, None)
    mean = NEW_ROWS[np.array(LABELS) == "class 2"].mean(axis=0)
    row = pairs.classifier.weights[pairs.classifier.class_names.index("class 2")]
    np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-6)
    model = compiled_model(SMALL, pairs, 1)
    assert isinstance(model.loss, FastFill)
    assert isinstance(model.loss.alignment.discriminative, NormSoftmax)


def test_softmax_is_smoothed_and_cosface_is_not():
    softmax = dataclasses.replace(CLASSIFIER, kind="softmax", scale=None, margin=None)
    for classifier, smoothing in ((softmax, 0.1), (CLASSIFIER, 0.0)):
        pairs = StoredPairs.of(SMALL, OLD_ROWS, NEW_ROWS, LABELS, classifier, None)
        loss = compiled_model(SMALL, pairs, 1).loss.alignment.discriminative
        assert (loss.kind, loss.label_smoothing) == (classifier.kind, smoothing)


def test_residual_begins_at_ridge_of_unit_length():
    recipe = dataclasses.replace(FCT, base="ridge", unit_length=True)
    pairs = StoredPairs.of(recipe, OLD_ROWS, NEW_ROWS, None, None, None)
    model = compiled_model(recipe, pairs, 1)
    old, new = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (OLD_ROWS, NEW_ROWS)
    )
    ridge = Ridge().fit(old, new, old_fingerprint="a", new_fingerprint="b")
    np.testing.assert_allclose(
        model.transform(OLD_ROWS)[0], ridge.transform(old), atol=1e-5
    )


@pytest.mark.slow
def test_best_epoch_on_held_out_classes_is_kept():
    recipe = dataclasses.replace(FCT, held_out_classes=0.34, learning_rate=5e-3)
    pairs = StoredPairs.of(recipe, OLD_ROWS, NEW_ROWS, LABELS, None, None)
    _, held_out = pairs.parted(0.34, recipe.seed)
    away = np.isin(LABELS, held_out.labels)
    assert len(set(held_out.labels.tolist())) == 2
    # What holds for the other classes is wrong here: every epoch makes it worse.
    new = np.where(away[:, None], -3 * NEW_ROWS, NEW_ROWS)
    model = fit_alignment(recipe, OLD_ROWS, new, labels=LABELS)
    losses = model.history.history["val_loss"]
    assert losses[-1] > 1.02 * min(losses)
    found = ((model.transform(OLD_ROWS[away])[0] - new[away]) ** 2).mean()
    regularisers = float(np.sum(model.losses))
    assert found + regularisers == pytest.approx(min(losses), rel=1e-3)


def test_side_information_is_used():
    # What the old embedding knows nothing of, and side information says.
    unknown = np.random.default_rng(1).normal(size=(ITEMS, 2)).astype(np.float32)
    new = np.concatenate([NEW_ROWS, unknown], axis=1)
    recipe = dataclasses.replace(FCT, base="ridge", epochs=3)
    model = fit_alignment(recipe, OLD_ROWS, new, side_information=unknown)
    aligned, _ = model.transform(OLD_ROWS, unknown)
    assert ((aligned - new)[:, NEW:] ** 2).mean() < 0.05


@pytest.mark.parametrize(
    ("changes", "error_type", "message"),
    [
        ({"new": NEW_ROWS[:-1]}, ValueError, "`new` should have a row for each"),
        ({"old": OLD_ROWS.astype(int)}, TypeError, "`old` should be of a floating"),
        ({"new": np.full_like(NEW_ROWS, np.nan)}, ValueError, "`new` should be finite"),
        ({"labels": None}, ValueError, "`labels` should name the class.*None"),
        ({"labels": LABELS[:3]}, ValueError, "`labels` should name.*120 items.*3"),
        ({"labels": [None] * ITEMS}, ValueError, "`labels` should.*none in row 0"),
        ({"labels": [*LABELS[1:], float("nan")]}, ValueError, "`labels`.*row 119"),
        (
            {"labels": ["class 0"] * ITEMS, "classifier": None},
            ValueError,
            "`labels` should name at least two classes.*'class 0' alone",
        ),
        ({"old": OLD_ROWS[:0]}, ValueError, "`old` should hold at least one item"),
        ({"labels": ["?"] * ITEMS}, ValueError, "`classifier` knows.*first '[?]'"),
        (
            {"side_information": np.ones((3, 2))},
            ValueError,
            "`side_information` should have a row for each.*3 rows and 120",
        ),
        (
            {"side_information": np.full((ITEMS, 2), np.nan)},
            ValueError,
            "`side_information` should be finite",
        ),
        (
            {"classifier": Classifier("softmax", np.eye(2), ("class 0", "class 1"))},
            ValueError,
            "`classifier` should be the new model's and take 6 components.*2",
        ),
    ],
)
def test_data_that_do_not_fit_are_refused(changes, error_type, message):
    arguments = {
        "old": OLD_ROWS,
        "new": NEW_ROWS,
        "labels": LABELS,
        "classifier": CLASSIFIER,
        **changes,
    }
    with pytest.raises(error_type, match=message):
        fit_alignment(SMALL, **arguments)


def test_two_pairs_are_too_few_for_a_map_on_ridge():
    recipe = residual_recipe(hidden_size=8, epochs=2)
    with pytest.raises(ValueError, match=r"`old` should have at least 3 items.*2\."):
        fit_alignment(recipe, OLD_ROWS[:2], NEW_ROWS[:2], labels=LABELS[:2])


def test_a_side_that_does_not_vary_is_refused_by_its_name():
    recipe = residual_recipe(hidden_size=8, epochs=2)
    with pytest.raises(ValueError, match="`old` should vary"):
        fit_alignment(recipe, np.ones_like(OLD_ROWS), NEW_ROWS, labels=LABELS)


def test_what_float32_cannot_hold_is_refused():
    with pytest.raises(ValueError, match=r"`old` should be within float32.*in row 0"):
        fit_alignment(FCT, np.full((8, OLD), 1e39), NEW_ROWS[:8])


@pytest.mark.parametrize("name", ["old", "new", "side_information"])
def test_what_float32_cannot_square_is_refused(name):
    sides = {"old": OLD_ROWS, "new": NEW_ROWS, "side_information": OLD_ROWS.copy()}
    sides[name] = np.where(np.arange(ITEMS)[:, None] == 7, 1e20, sides[name])

    with pytest.raises(
        ValueError, match=rf"`{name}` should be small.*1\.0e\+20 in row 7"
    ):
        fit_alignment(FCT, **sides)


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [0.0, 0.34])
@pytest.mark.parametrize(("unit", "rate"), [(1e10, 5e-4), (1.0, 1e30)])
def test_a_training_that_diverged_gives_no_map(unit, rate, held_out):
    recipe = dataclasses.replace(
        SMALL, epochs=3, learning_rate=rate, held_out_classes=held_out
    )

    with pytest.raises(
        ValueError, match=r"diverged\. Lower `learning_rate`, or divide"
    ):
        fit_alignment(recipe, OLD_ROWS, unit * NEW_ROWS, labels=LABELS)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["memory-mapped", "Fortran's order", "float64"])
def test_the_form_of_the_arrays_is_no_matter(form, tmp_path):
    def formed(name, rows):
        if form == "memory-mapped":
            np.save(tmp_path / name, rows)
            return np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        return np.asfortranarray(rows) if "order" in form else rows.astype(np.float64)

    short = dataclasses.replace(FCT, epochs=2)
    found, expected = (
        fit_alignment(short, old, new).get_weights()
        for old, new in (
            (formed("old", OLD_ROWS), formed("new", NEW_ROWS)),
            (OLD_ROWS, NEW_ROWS),
        )
    )

    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "steps"), [(120, 4), (63, 2), (40, 1), (20, 1)])
def test_an_epoch_is_the_nearest_number_of_batches(pairs, steps):
    """Batches of 32: no pair is left out for long where few make an epoch."""
    recipe = dataclasses.replace(FCT, epochs=6)
    model = fit_alignment(recipe, OLD_ROWS[:pairs], NEW_ROWS[:pairs])
    assert int(model.optimizer.iterations) == 6 * steps


@pytest.mark.slow
def test_a_second_training_normalises_by_the_batch_again():
    model = fit_alignment(FCT, OLD_ROWS, NEW_ROWS)
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(self.model.alignment_map.batch_statistics)

    model.fit(
        {"old_embedding": OLD_ROWS},
        {"embedding": NEW_ROWS},
        epochs=3,
        callbacks=[FreezeBatchStatistics(2), Watch()],
        verbose=0,
    )
    assert seen == [True, True, False]


def test_class_means_stand_in_for_a_softmax_that_knows_no_unit_vectors():
    softmax = Classifier(
        "softmax", RNG.normal(size=(6, NEW)), tuple(sorted(set(LABELS)))
    )
    arrays = (OLD_ROWS, NEW_ROWS, LABELS)
    for recipe, kind in (
        (dataclasses.replace(SMALL, unit_length=True), "normsoftmax"),
        (SMALL, "softmax"),
    ):
        assert StoredPairs.of(recipe, *arrays, softmax, None).classifier.kind == kind


def test_holding_out_every_class_is_refused():
    recipe = dataclasses.replace(FCT, held_out_classes=0.95)
    with pytest.raises(ValueError, match=r"`held_out_classes`.*0.95 of 6"):
        fit_alignment(recipe, OLD_ROWS, NEW_ROWS, labels=LABELS)

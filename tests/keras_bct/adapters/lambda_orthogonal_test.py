import numpy as np
import pytest

from keras_bct.adapters import LambdaOrthogonal, NewToOld, OldToNew, Procrustes, Ridge
from keras_bct.adapters.near_rotation import deviation


def spread(rows):
    return np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())


def scaled(adapter, source, target):
    """B itself: between sides of the same spread."""
    return adapter.map.matrix * spread(source) / spread(target)


def error(adapter, rows, wanted):
    return ((adapter.transform(rows) - wanted) ** 2).sum(axis=1).mean()


def test_with_lambda_zero_it_is_procrustes_between_sides_of_one_spread(
    make_pairs, sides
):
    old, new = make_pairs(pairs=300)
    old, new = old / spread(old), new / spread(new)

    adapter = LambdaOrthogonal(bound=0).fit_backward(old, new, **sides)

    expected = Procrustes().fit_backward(old, new, **sides)
    assert type(adapter) is NewToOld
    np.testing.assert_allclose(adapter.map.matrix, expected.map.matrix, atol=1e-5)
    np.testing.assert_allclose(adapter.map.offset, expected.map.offset, atol=1e-4)


@pytest.mark.parametrize(("old_size", "new_size"), [(5, 5), (3, 6), (6, 3)])
def test_the_bound_holds_and_a_wider_one_fits_better(
    make_pairs, sides, old_size, new_size
):
    old, new = make_pairs(pairs=300, old_size=old_size, new_size=new_size, noise=1.0)
    errors = []
    for bound in (0.0, 0.2, 0.6, 50.0):
        adapter = LambdaOrthogonal(bound=bound).fit_backward(old, new, **sides)
        found = deviation(scaled(adapter, new, old))
        assert found <= bound + 1e-6
        assert adapter.settings["deviation"] == pytest.approx(found, abs=1e-6)
        errors.append(error(adapter, new, old))

    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[1] > errors[2]
    ridge = Ridge().fit_backward(old, new, **sides)
    assert errors[-1] == pytest.approx(error(ridge, new, old))


def test_the_unit_of_either_side_does_not_matter(make_pairs, sides):
    old, new = make_pairs(pairs=300, noise=1.0)
    plain = LambdaOrthogonal(bound=0.3).fit_backward(old, new, **sides)

    other = LambdaOrthogonal(bound=0.3).fit_backward(old, 1000 * new, **sides)

    np.testing.assert_allclose(
        other.transform(1000 * new), plain.transform(new), rtol=1e-3, atol=1e-3
    )


def test_the_forward_map_is_not_bound(make_pairs, sides):
    old, new = make_pairs(old_size=3, new_size=6)

    adapter = LambdaOrthogonal(bound=0.1).fit(old, new, **sides)

    assert type(adapter) is OldToNew
    assert adapter.settings["bound"] is None
    np.testing.assert_allclose(
        adapter.transform(old), Ridge().fit(old, new, **sides).transform(old)
    )


def classes_that_overlap():
    """Gives old and new embeddings and labels; squared error alone loses the classes.

    The first two components tell the classes apart, the third is large noise that the
    old side cannot predict and the new side has too.
    """
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 6, 1200)
    angle = labels * np.pi / 3
    class_part = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    old = np.column_stack([class_part, generator.normal(size=(1200, 2))])
    old += 0.3 * generator.normal(size=old.shape)
    new = old @ generator.normal(size=(4, 4)) + 0.5 * generator.normal(size=old.shape)
    return old.astype(np.float32), new.astype(np.float32), labels.astype(str)


def contrast(mapped, target, labels):
    """How much nearer, by cosine, own classes' targets are than those of others."""
    unit = [
        rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (mapped, target)
    ]
    cosines = unit[0] @ unit[1].T
    same = labels[:, None] == labels[None]
    return cosines[same].mean() - cosines[~same].mean()


@pytest.mark.parametrize("fit", ["fit", "fit_backward"])
def test_labels_draw_classes_together(sides, fit):
    old, new, labels = classes_that_overlap()
    source, target = (old, new) if fit == "fit" else (new, old)
    method = LambdaOrthogonal(
        bound=1.0, contrastive_weight=1.0, epochs=8, batch_size=300, learning_rate=0.01
    )

    plain = getattr(method, fit)(old, new, **sides)
    drawn = getattr(method, fit)(old, new, labels=labels, **sides)

    assert contrast(drawn.transform(source), target, labels) > 0.02 + contrast(
        plain.transform(source), target, labels
    )
    assert drawn.settings["contrastive_weight"] == 1.0
    if fit == "fit_backward":
        assert deviation(scaled(drawn, new, old)) <= 1.0 + 1e-5
    again = getattr(method, fit)(old, new, labels=labels, **sides)
    np.testing.assert_allclose(again.map.matrix, drawn.map.matrix, rtol=1e-4, atol=1e-5)


def test_survives_the_round_trip(make_pairs, sides, tmp_path):
    old, new = make_pairs()
    adapter = LambdaOrthogonal(bound=0.3).fit_backward(old, new, **sides)
    adapter.save(tmp_path)

    loaded = NewToOld.load(tmp_path)

    assert loaded.settings == adapter.settings
    np.testing.assert_array_equal(loaded.transform(new), adapter.transform(new))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bound": -1.0}, "`bound` should be zero or more"),
        ({"contrastive_weight": np.nan}, "`contrastive_weight` should be zero or more"),
        ({"temperature": 0.0}, "`temperature` should be above zero"),
        ({"bound": np.inf}, "`bound` should be zero or more"),
        ({"learning_rate": "fast"}, "`learning_rate` should be above zero"),
        ({"epochs": 0}, "`epochs` should be a whole number, at least 1"),
        ({"epochs": 2.5}, "`epochs` should be a whole number, at least 1"),
        ({"batch_size": np.inf}, "`batch_size` should be a whole number, at least 1"),
        ({"seed": -1}, "`seed` should be a whole number, at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        LambdaOrthogonal(**change)


def test_another_number_of_labels_is_refused(make_pairs, sides):
    with pytest.raises(ValueError, match="class of each of 60 items"):
        LambdaOrthogonal().fit(*make_pairs(), labels=["a"], **sides)


def test_too_few_pairs_are_refused(make_pairs, sides):
    with pytest.raises(ValueError, match=r"at least 7 pairs. Received: 6"):
        LambdaOrthogonal().fit_backward(*make_pairs(pairs=6), **sides)


@pytest.mark.parametrize("labels", [[None] * 20, ["a"] * 19 + [None]])
def test_a_label_that_is_missing_is_refused(make_pairs, sides, labels):
    with pytest.raises(ValueError, match=r"`labels` .* Received none in row"):
        LambdaOrthogonal().fit(*make_pairs(pairs=20), labels=labels, **sides)

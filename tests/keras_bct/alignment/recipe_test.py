import math

import pytest

from keras_bct.alignment.recipe import AlignmentRecipe


def test_defaults_are_the_papers():
    recipe = AlignmentRecipe()
    assert (recipe.epochs, recipe.warm_up_epochs) == (80, 5)
    # ImageNet, as in the paper.
    assert recipe.chosen_batch_size(1_281_167) == 1024
    assert (recipe.learning_rate, recipe.weight_decay) == (5e-4, 2**-15)
    assert (recipe.hidden_size, recipe.batch_statistics_share) == (2048, 0.5)
    assert recipe.label_smoothing == 0.1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("components", "max"),
        ("uncertainty", "two"),
        ("base", "procrustes"),
        ("unit_length", "no"),
        ("epochs", 0),
        ("epochs", 6.5),
        ("hidden_size", 8.5),
        ("batch_size", 2.5),
        ("batch_size", True),
        ("warm_up_epochs", math.nan),
        ("warm_up_epochs", 80),
        ("seed", -1),
        ("discriminative_weight", -1.0),
        ("discriminative_weight", math.nan),
        ("weight_decay", math.nan),
        ("learning_rate", 0.0),
        ("learning_rate", math.inf),
        ("learning_rate", "fast"),
        ("prototype_scale", math.inf),
        ("log_variance_weight", 0),
        ("log_variance_weight", -1),
        ("dropout", 1.5),
        ("label_smoothing", 1.0),
        ("held_out_classes", -0.1),
        ("batch_statistics_share", 1.1),
    ],
)
def test_values_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=rf"`{field}` should.*{value}"):
        AlignmentRecipe(**{field: value})


@pytest.mark.parametrize("pairs", [3_300, 20_000, 50_000, 100_000, 130_000, 1_200_000])
@pytest.mark.parametrize("epochs", [80, 200])
def test_unless_told_a_map_is_trained_for_thousands_of_steps(pairs, epochs):
    recipe = AlignmentRecipe(epochs=epochs)
    size = recipe.chosen_batch_size(pairs)
    assert epochs * pairs / size >= 8000
    # Twice as large a batch would be too few steps, or more than the paper's.
    assert size == 1024 or epochs * pairs / (2 * size) < 8000


def test_of_few_pairs_the_batches_stay_large_enough_for_their_statistics():
    assert AlignmentRecipe().chosen_batch_size(100) == 32


def test_a_batch_size_that_is_told_is_taken():
    assert AlignmentRecipe(batch_size=7).chosen_batch_size(1_000_000) == 7

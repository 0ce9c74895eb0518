import math

import pytest

from keras_bct.alignment.recipe import AlignmentRecipe


def test_defaults_are_the_papers():
    recipe = AlignmentRecipe()
    assert (recipe.epochs, recipe.warm_up_epochs, recipe.batch_size) == (80, 5, 1024)
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

"""A recipe refuses what cannot be trained."""

from typing import Any

import pytest

from keras_bct.configuration import from_mapping
from keras_bct.experiments import Recipe


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", "gamma"),
        ("backbone", "resnet"),
        ("loss", "hinge"),
        ("old_rows", "medians"),
        ("width", 0),
        ("steps", 0),
        ("embedding_size", 0),
        ("batch_size", -1),
        ("influence_weight", -0.5),
        ("distillation_weight", -0.5),
    ],
)
def test_a_value_out_of_range_is_named(field: str, value: Any) -> None:
    values = {"method": "beta", "width": 8, "steps": 10, field: value}
    with pytest.raises(ValueError, match=f"`{field}` should .* Received"):
        Recipe(**values)


def test_the_demos_recipes_are_read_as_before() -> None:
    recipe = from_mapping(
        Recipe,
        {"method": "beta-sys", "width": 20, "steps": 1500, "seed": 3},
        source="examples/kanji/beta-sys.yaml",
    )
    assert (recipe.loss, recipe.scale, recipe.margin) == ("cosface", 24.0, 0.3)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValueError, match="lambda"):
        from_mapping(
            Recipe,
            {"method": "beta", "width": 8, "steps": 10, "lambda": 1.0},
            source="recipe.yaml",
        )

"""A recipe refuses what cannot be trained."""

from typing import Any

import pytest

from keras_bct.configuration import from_mapping
from keras_bct.training import (
    CriterionSettings,
    DataSettings,
    OptimizerSettings,
    Recipe,
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", "gamma"),
        ("backbone", "resnet"),
        ("precision", "float16"),
        ("strategy", "tpu"),
        ("augmentation", ("mixup",)),
        ("epochs", 0),
        ("interval_steps", 0),
        ("pictures_per_class", 0),
        ("label_smoothing", 1.0),
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
    if field == "epochs":
        del values["steps"]
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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": None}, "either `steps` or `epochs`"),
        ({"epochs": 3}, "either `steps` or `epochs`"),
        ({"width": None}, "`width` should be given for glyph"),
        ({"backbone": "resnet18"}, "`width` should be given for glyph"),
        ({"optimizer": OptimizerSettings(schedule="steps")}, "needs `epochs`"),
        (
            {"method": "independent", "criterion": CriterionSettings("p.yaml")},
            "`criterion` compares with a predecessor",
        ),
    ],
)
def test_fields_that_do_not_fit_each_other_are_refused(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe(**{"method": "beta", "width": 8, "steps": 10, **fields})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OptimizerSettings("lion"), r"`optimizer.name` should be one of"),
        (lambda: OptimizerSettings(schedule="linear"), "`optimizer.schedule`"),
        (lambda: OptimizerSettings(momentum=1.0), "`optimizer.momentum`"),
        (lambda: OptimizerSettings(weight_decay=-1.0), "`optimizer.weight_decay`"),
        (lambda: OptimizerSettings(decay_epochs=(8, 8)), "positive and rising"),
        (lambda: OptimizerSettings(decay_epochs=(0, 8)), "positive and rising"),
        (lambda: CriterionSettings("p.yaml", patience=0), "`criterion.patience`"),
        (lambda: DataSettings(()), "`data.train`"),
    ],
)
def test_a_section_refuses_what_is_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_paper_of_bct_is_read_as_it_is_written() -> None:
    recipe = from_mapping(
        Recipe,
        {
            "method": "beta",
            "backbone": "resnet101",
            "epochs": 16,
            "optimizer": {
                "name": "sgd",
                "schedule": "steps",
                "weight_decay": "5e-4",
                "decay_epochs": [8, 12, 14],
            },
            "data": {"train": ["a.tfrecord", "b.tfrecord"]},
        },
        source="recipe.yaml",
    )
    assert recipe.optimizer == OptimizerSettings("sgd", "steps", 0.9, 5e-4, (8, 12, 14))
    assert recipe.data is not None
    assert recipe.data.patterns == ("a.tfrecord", "b.tfrecord")

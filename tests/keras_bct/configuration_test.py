import dataclasses

import pytest

from keras_bct.configuration import from_mapping, read_yaml


@dataclasses.dataclass(frozen=True)
class Optimizer:
    learning_rate: float
    momentum: float | None = None


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    optimizer: Optimizer
    steps: int = 10
    metrics: tuple[str, ...] = ()


def test_nested_values_lists_and_whole_numbers_become_what_the_fields_say(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "name: a\noptimizer: {learning_rate: 1, momentum: 5e-4}\nmetrics: [x, y]\n"
    )

    recipe = read_yaml(Recipe, path)

    assert recipe == Recipe("a", Optimizer(1.0, 5e-4), 10, ("x", "y"))
    assert isinstance(recipe.optimizer.learning_rate, float)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "a", "optimizer": {"learning_rate": 1}, "stepz": 3}, "stepz"),
        ({"name": "a", "optimizer": {"learning_rate": 1, "rate": 3}}, "rate"),
        ({"name": "a"}, "optimizer"),
        ({"name": "a", "optimizer": {"learning_rate": "fast"}}, "learning_rate"),
        ({"name": "a", "optimizer": {"learning_rate": 1}, "steps": 1.5}, "steps"),
    ],
)
def test_a_wrong_key_or_type_is_named_with_its_source(values, said):
    with pytest.raises(ValueError, match=rf"recipe\.yaml.*{said}"):
        from_mapping(Recipe, values, source="recipe.yaml")


def test_a_file_that_is_not_a_mapping_is_refused(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("- a list\n")
    with pytest.raises(ValueError, match=r"expected the keys of Recipe.*list"):
        read_yaml(Recipe, path)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "a", "stepz": 3}, "unknown key 'stepz'. Did you mean 'steps'?"),
        (
            {"name": "a", "optimizer": {"learning_rates": 1, "learning_rate": 1}},
            "unknown key 'learning_rates'. Did you mean 'learning_rate'?",
        ),
        ({"name": "a", "colour": 3}, "unknown key 'colour'."),
    ],
)
def test_the_key_that_is_like_an_unknown_one_is_named(values, said):
    with pytest.raises(ValueError) as refused:
        from_mapping(Recipe, values, source="recipe.yaml")
    assert str(refused.value) == f"recipe.yaml: {said}"


def test_what_a_section_refuses_is_told_with_its_source():
    @dataclasses.dataclass(frozen=True)
    class Positive:
        steps: int

        def __post_init__(self):
            if self.steps < 1:
                raise ValueError("`steps` should be positive.")

    with pytest.raises(ValueError, match=r"^run\.yaml: `steps` should be positive"):
        from_mapping(Positive, {"steps": 0}, source="run.yaml")


@pytest.mark.parametrize("content", [b"name: \xff\xfe", b"name: [", b"name: \x00"])
def test_a_file_that_is_no_yaml_is_named(tmp_path, content):
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"recipe\.yaml: not a YAML file in UTF-8"):
        read_yaml(Recipe, path)

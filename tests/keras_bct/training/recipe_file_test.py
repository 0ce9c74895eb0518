"""Recipes by name and by path, and single fields set from the command line."""

from pathlib import Path

import pytest

from keras_bct.training import read_recipe, recipe_names

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_package_is_one(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.data is not None
    assert (recipe.predecessor is None) == (recipe.method == "independent")


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_says_where_its_pictures_come_from(name: str) -> None:
    text = (ROOT / f"keras_bct/recipes/{name}.yaml").read_text(encoding="utf-8")
    assert "python -m keras_bct.data." in text


@pytest.mark.parametrize("name", recipe_names())
def test_a_predecessor_is_what_another_recipe_leaves(name: str) -> None:
    recipe = read_recipe(name)
    if recipe.predecessor is None:
        return
    text = (ROOT / f"keras_bct/recipes/{name}.yaml").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if "-m keras_bct train" in line)
    _, _, words = line.partition("keras_bct train ")
    old_name, option, output = words.split()[:3]
    assert option == "--output"
    assert recipe.predecessor == f"{output}/version"
    old = read_recipe(old_name)
    assert (old.embedding_size, old.loss) == (recipe.embedding_size, recipe.loss)
    assert old.seed != recipe.seed


def test_the_papers_recipe_has_the_papers_constants() -> None:
    # Shen et al., CVPR 2020, section 3.2.
    recipe = read_recipe("imdb-face")
    assert (recipe.backbone, recipe.embedding_size) == ("resnet101", 128)
    assert (recipe.loss, recipe.margin, recipe.batch_size) == ("cosface", 0.4, 320)
    assert (recipe.epochs, recipe.learning_rate) == (16, 0.1)
    optimizer = recipe.optimizer
    assert (optimizer.name, optimizer.weight_decay) == ("sgd", 5e-4)
    assert (optimizer.schedule, optimizer.decay_epochs) == ("steps", (8, 12, 14))
    assert recipe.image_shape == (112, 112, 3)
    assert recipe.augmentation == ("misalignment", "colour")


def test_the_kanji_recipes_are_those_of_the_tables() -> None:
    from keras_bct.experiments import Catalogue

    catalogue = Catalogue(0)
    tables = {
        "kanji-phi1": catalogue.old(),
        "kanji-independent": catalogue.paragon(),
        "kanji-beta": catalogue.new("beta"),
        "kanji-beta-sys": catalogue.new("beta-sys"),
        "kanji-beta-kd": catalogue.new("beta-kd"),
    }
    outside = {"data", "predecessor", "criterion"}
    for name, training in tables.items():
        fields = read_recipe(name).digested()
        own = {key: value for key, value in fields.items() if key not in outside}
        assert own == training.recipe.digested()


def test_fields_are_set_one_by_one() -> None:
    recipe = read_recipe(
        "kanji-beta",
        [
            "influence_weight=2",
            "data.train=[a.tfrecord, b.tfrecord]",
            "criterion.patience=3",
            "optimizer.name=sgd",
            "pictures_per_class=4",
            "criterion.metric=null",
        ],
    )
    assert recipe.influence_weight == 2.0
    assert recipe.data is not None
    assert recipe.data.train == ("a.tfrecord", "b.tfrecord")
    assert recipe.criterion is not None
    assert (recipe.criterion.patience, recipe.criterion.metric) == (3, None)
    assert recipe.optimizer.name == "sgd"
    assert recipe.pictures_per_class == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("lambda=2", "lambda"),
        ("data.trian=a", "trian"),
        ("influence_weight", "--set should be key=value"),
        ("=3", "--set should be key=value"),
        ("width.height=3", "'width' should be a section"),
        ("steps=[", "the value is not YAML"),
        ("steps=many", "steps"),
        ("method=gamma", "`method` should be one of"),
    ],
)
def test_a_change_that_cannot_be_is_named(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_recipe("kanji-beta", [change])


def test_a_name_that_is_none_lists_those_that_are() -> None:
    with pytest.raises(FileNotFoundError, match=r"kanji-beta-sys.*'kanji-gamma'"):
        read_recipe("kanji-gamma")


@pytest.mark.parametrize("text", ["- beta\n", "method: [\n", ""])
def test_a_file_that_is_no_recipe_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.yaml"):
        read_recipe(path)


def test_an_unknown_key_of_a_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("method: beta\nwidth: 8\nsteps: 10\nlambda: 3\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine.yaml.*lambda"):
        read_recipe(path)

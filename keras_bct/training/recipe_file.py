"""Recipes as YAML: those that come with the package, and one's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from keras_bct.configuration import from_mapping, load_yaml
from keras_bct.did_you_mean import did_you_mean
from keras_bct.training.recipe import Recipe

FOLDER = Path(__file__).parents[1] / "recipes"
"""Where the recipes lie that come with the package."""


def recipe_names() -> tuple[str, ...]:
    """Gives the names of the recipes that come with the package, sorted.

    Example:
        >>> "kanji-beta-sys" in recipe_names()
        True
    """
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def read_recipe(recipe: str | os.PathLike[str], changes: Sequence[str] = ()) -> Recipe:
    """Reads a recipe and changes single fields of it.

    Args:
        recipe: A YAML file, or the name of a recipe that comes with the package.
        changes: `key=value` each, the value in YAML; a dot leads into a section, as
            in `data.train=faces/*.tfrecord`.

    Raises:
        FileNotFoundError: There is neither such a file nor such a name.
        ValueError: A key is unknown or missing, a value is out of its range or of
            another type, or a change is not `key=value`.

    Example:
        >>> read_recipe("kanji-beta-sys", ["influence_weight=2"]).influence_weight
        2.0
    """
    path = _locate(os.fspath(recipe))
    values = load_yaml(path)
    if not isinstance(values, dict):
        raise ValueError(
            f"{path}: expected the keys of a recipe. Received: {type(values).__name__}"
        )
    for change in changes:
        _change(values, change)
    source = str(path) if not changes else f"{path} with {', '.join(changes)}"
    return from_mapping(Recipe, values, source=source)


def _locate(recipe: str) -> Path:
    if os.path.isfile(recipe):
        return Path(recipe)
    if recipe in recipe_names():
        return FOLDER / f"{recipe}.yaml"
    raise FileNotFoundError(
        "RECIPE should be a YAML file, or one of "
        f"{', '.join(recipe_names())}. Received: {recipe!r}."
        f"{did_you_mean(recipe, recipe_names())}"
    )


def _change(values: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise ValueError(
            "--set should be key=value, such as influence_weight=2. Received: "
            f"{change!r}"
        )
    *sections, field = key.split(".")
    for section in sections:
        inner = values.get(section)
        if inner is None:
            inner = values[section] = {}
        if not isinstance(inner, dict):
            raise ValueError(
                f"--set {key}: {section!r} should be a section of the recipe. "
                f"Received: {inner!r}"
            )
        values = inner
    try:
        values[field] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"--set {key}: the value is not YAML: {error}") from error

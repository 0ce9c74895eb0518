"""docs/licences.md names every package and typeface that this project builds on."""

import csv
import re
import sys
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent.parent


def listed() -> set[str]:
    page = (ROOT / "docs" / "licences.md").read_text()
    return set(re.findall(r"^\| ([\w.-]+) \|", page, re.M))


def test_lists_every_package_that_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = [
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
        *(
            text
            for extra in project["project"]["optional-dependencies"].values()
            for text in extra
        ),
    ]

    assert {Requirement(text).name for text in asked} - listed() == set()


def test_lists_every_typeface():
    with (ROOT / "keras_bct" / "data" / "typefaces.csv").open() as file:
        typefaces = {row["name"] for row in csv.DictReader(file)}

    assert typefaces - listed() == set()

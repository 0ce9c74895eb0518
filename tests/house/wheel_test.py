"""What `pip install keras-bct` brings."""

import email
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("keras_bct", "registry", "tfx_pipeline")


@pytest.fixture(scope="module")
def wheel(wheel_file):
    """The wheel, opened."""
    with zipfile.ZipFile(wheel_file) as archive:
        yield archive


def read(wheel, name):
    """Returns the content of one file of the wheel's own description."""
    (path,) = (path for path in wheel.namelist() if path.endswith(f"dist-info/{name}"))
    return wheel.read(path).decode()


EXPERIMENTS = "keras_bct/experiments/"


def test_carries_every_file_of_the_packages_but_the_experiments(wheel):
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.name != "BUILD" and path.parent.name != "__pycache__"
    }

    missing = expected - set(wheel.namelist())
    assert missing == {name for name in expected if name.startswith(EXPERIMENTS)}


def test_needs_tfx_and_scann_only_for_the_extras_that_name_them(wheel):
    asked = email.message_from_string(read(wheel, "METADATA")).get_all("Requires-Dist")
    names = {
        requirement.name
        for requirement in map(Requirement, asked)
        if requirement.marker is None
        or requirement.marker.evaluate({"extra": "", "python_version": "3.12"})
    }

    assert {"tensorflow", "keras", "sqlalchemy"} <= names
    assert names.isdisjoint({"tfx", "apache-beam", "scann"})


def test_is_for_python_3_10_to_3_13(wheel):
    metadata = email.message_from_string(read(wheel, "METADATA"))

    assert metadata["Requires-Python"] == "<3.14,>=3.10"


def test_gives_the_commands(wheel):
    commands = read(wheel, "entry_points.txt").split("[console_scripts]")[1]
    assert commands.split("\n\n")[0].strip().splitlines() == [
        "keras-bct = keras_bct.__main__:main",
        "registry = registry.cli.main:run",
    ]

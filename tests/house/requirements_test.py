"""requirements.txt holds the two sets whole, and says what pyproject.toml asks for."""

import sys
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def pins(python: str) -> dict[str, list[str]]:
    """Returns, for each package that a Python takes, the versions pinned for it."""
    machine = default_environment() | {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    found: dict[str, list[str]] = {}
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        text = line.partition("#")[0].strip()
        if not text:
            continue
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(machine):
            (pin,) = requirement.specifier
            assert pin.operator == "==", line
            found.setdefault(canonicalize_name(requirement.name), []).append(
                pin.version
            )
    return found


def asked_for(python: str) -> list[Requirement]:
    """Returns what pyproject.toml asks for on a Python, with every extra and group."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["search"],
        *project["project"]["optional-dependencies"]["tfx"],
        *project["dependency-groups"]["dev"],
    ]
    requirements = [Requirement(text) for text in asked]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None
        or requirement.marker.evaluate({"python_version": python})
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_pins_each_package_once(python):
    twice = {name: found for name, found in pins(python).items() if len(found) > 1}

    assert twice == {}


@pytest.mark.parametrize("python", PYTHONS)
def test_pins_what_pyproject_asks_for(python):
    pinned = pins(python)

    for requirement in asked_for(python):
        (version,) = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("3.10", {"tensorflow": "2.16.2", "keras": "3.12.4", "tfx": "1.16.0"}),
        ("3.11", {"tensorflow": "2.21.0", "keras": "3.15.1", "tfx": "1.21.0"}),
        ("3.12", {"tensorflow": "2.21.0", "keras": "3.15.1", "tfx": "1.21.0"}),
        ("3.13", {"tensorflow": "2.21.0", "keras": "3.15.1", "tfx": "1.21.0"}),
    ],
)
def test_pins_the_two_supported_sets(python, expected):
    pinned = pins(python)

    assert {name: pinned[name] for name in expected} == {
        name: [version] for name, version in expected.items()
    }


def test_this_environment_holds_the_pins():
    from importlib.metadata import version

    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    pinned = pins(running)

    assert {name: version(name) for name in pinned} == {
        name: versions[0] for name, versions in pinned.items()
    }

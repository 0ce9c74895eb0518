"""Bazel's rooms are the tree's, and their arrows those of the imports.

A py_library builds whatever it leaves out; only a test that needs it would notice.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("keras_bct", "registry", "tfx_pipeline")


class Targets(dict[str, set[str]]):
    """The libraries and binaries of the tree, and what each names in `deps`."""

    def __init__(self) -> None:
        for package in PACKAGES:
            for build in (ROOT / package).rglob("BUILD"):
                self._read(build)

    def _read(self, build: Path) -> None:
        folder = build.parent.relative_to(ROOT).as_posix()

        def full(label: str) -> str:
            label = label if label.startswith("//") else f"//{folder}{label}"
            return label if ":" in label else f"{label}:{label.rpartition('/')[2]}"

        def target(name: str, deps: tuple[str, ...] = (), **_: Any) -> None:
            self[full(f":{name}")] = {full(dep) for dep in deps}

        def ignore(*_: Any, **__: Any) -> None: ...

        # A BUILD file is Python in its syntax.
        rules = {"py_binary": target, "py_library": target}
        others = dict.fromkeys(("exports_files", "glob", "load", "package"), ignore)
        exec(build.read_text(), others | rules)

    def reached(self, target: str) -> set[str]:
        """Returns the target and all that it depends on."""
        found: set[str] = set()
        waiting = [target]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(self[current])
        return found


def target_of(module: str) -> str:
    """Returns the label of the target whose glob takes a module in."""
    path = ROOT / module.replace(".", "/")
    folder = path if path.is_dir() else path.parent
    while not (folder / "BUILD").exists():
        folder = folder.parent
    name = folder.relative_to(ROOT).as_posix()
    if module.endswith(".__main__"):
        return f"//{name}:command"
    if name == "keras_bct":
        return "//keras_bct:modules"
    return f"//{name}:{folder.name}"


@pytest.fixture(scope="module")
def targets() -> Targets:
    return Targets()


def arrows() -> Iterator[tuple[str, str]]:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            yield importer, imported


def test_deps_cover_every_import(targets):
    missing = {
        f"{target_of(importer)} lacks {target_of(imported)}, for {importer}"
        for importer, imported in arrows()
        if target_of(imported) not in targets.reached(target_of(importer))
    }

    assert missing == set()


def test_every_room_of_keras_bct_has_a_target(targets):
    rooms = {path.parent for path in (ROOT / "keras_bct").glob("*/*.py")}

    assert {f"//keras_bct/{room.name}:{room.name}" for room in rooms} <= targets.keys()


def test_every_folder_of_tests_is_known_to_bazel():
    folders = {path.parent for path in (ROOT / "tests").rglob("*_test.py")}
    without = {
        folder.relative_to(ROOT).as_posix()
        for folder in folders
        if not (folder / "BUILD").exists()
    }

    assert without == set()

"""A registry where nothing can be written is read all the same."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

from registry import Registry
from registry.errors import RegistryError


@contextlib.contextmanager
def mounted(*argv, at):
    """A mount, unmounted in the end; skips where this user may not mount."""
    done = subprocess.run(["mount", *map(str, argv), str(at)], capture_output=True)
    if done.returncode:
        pytest.skip(f"mounting takes root's rights here: {done.stderr.decode()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@pytest.fixture
def read_only(served, tmp_path):
    """The folder of a registry, mounted so that nothing can be written."""
    served.database.close()
    (tmp_path / "mounted").mkdir()
    with mounted("--bind", served.root.url, at=tmp_path / "mounted") as folder:
        remount = ["mount", "-o", "remount,bind,ro", str(folder)]
        if subprocess.run(remount, capture_output=True).returncode:
            pytest.skip("a bind mount cannot be made read-only here")
        yield folder


class TestReadOnlyMount:
    def test_all_that_reads_works(self, read_only, served):
        registry = Registry(read_only)
        assert registry.versions("glyphs")[0].name == "glyphs/1"
        assert registry.alias("glyphs@production").index.name == "glyphs#1"
        assert len(registry.history("glyphs@production")) == 2
        assert registry.gallery("kanji").read().embeddings.shape == (20, 64)
        assert not any(registry.verify().values())
        assert registry.lineage("glyphs").render()
        assert Registry.init(read_only).versions()

    def test_what_writes_says_so_and_what_to_do(self, read_only):
        registry = Registry(read_only)
        with pytest.raises(RegistryError, match="can only be read here") as refused:
            registry.promote("glyphs/2", "production", force=True, reason="a test")
        assert "mounted for writing" in str(refused.value)

    @pytest.mark.parametrize(
        "write",
        [
            lambda registry: registry.build_index("kanji"),
            lambda registry: registry.remove_rows("kanji", ["row-0"]),
            lambda registry: registry.import_rows(
                "kanji", "rows.npz", registry.version("glyphs/1"), unchecked=True
            ),
        ],
        ids=["an index", "a removal", "an import"],
    )
    def test_what_writes_files_alone_says_so_too(self, read_only, write):
        with pytest.raises(RegistryError, match="mounted for writing"):
            write(Registry(read_only))

    def test_evidence_is_not_measured_for_nothing(self, read_only, protocol):
        with pytest.raises(RegistryError, match="can only be read here"):
            Registry(read_only).evaluate("glyphs/2", "glyphs/1", protocol)

    def test_what_a_writer_elsewhere_has_finished_is_seen(self, read_only, served):
        registry = Registry(read_only)
        registry.versions()
        served.promote("glyphs/2", "canary", force=True, reason="a test")
        # While it is open, its changes lie beside the database.
        assert registry.alias("glyphs@canary").version.name == "glyphs/2"
        served.database.close()
        assert registry.alias("glyphs@canary").version.name == "glyphs/2"

    def test_changes_that_a_dead_writer_left_are_not_passed_over(
        self, read_only, served, environment
    ):
        script = (
            "import os, sys\n"
            "from registry import Registry\n"
            "Registry(sys.argv[1]).promote('glyphs/2', 'canary', force=True, "
            "reason='a test')\n"
            "os._exit(0)\n"
        )
        argv = [sys.executable, "-c", script, served.root.url]
        subprocess.run(argv, env=environment, check=True)
        log = served.root.path("registry.db-wal")
        assert log.stat().st_size
        assert Registry(read_only).alias("glyphs@canary").version.name == "glyphs/2"
        served.root.path("registry.db-shm").unlink()
        with pytest.raises(RegistryError, match="left changes in"):
            Registry(read_only).aliases()

    def test_a_change_while_it_is_read_is_said(self, read_only, served):
        registry = Registry(read_only)
        with pytest.raises(RegistryError, match="was written while it was read"):
            with registry.database.reading():
                served.promote("glyphs/2", "canary", force=True, reason="a test")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_the_folder_of_another_user_is_read(served):
    served.database.close()
    folder = served.root.path()
    folder.chmod(0o555)
    try:
        assert Registry(folder).versions()
    finally:
        folder.chmod(0o755)


class TestFullDisk:
    @pytest.fixture
    def small(self, served, tmp_path):
        """The registry on a disk of two MiB that is full to the last byte."""
        served.database.close()
        (tmp_path / "small").mkdir()
        terms = ["-t", "tmpfs", "-o", "size=2m", "tmpfs"]
        with mounted(*terms, at=tmp_path / "small") as folder:
            shutil.copytree(served.root.url, folder / "root")
            registry = Registry(folder / "root")
            registry.versions()
            with open(folder / "filler", "wb", buffering=0) as file:
                with contextlib.suppress(OSError):
                    while file.write(bytes(4096)):
                        pass
            yield registry
            registry.database.close()

    def test_a_move_says_that_it_is_full(self, small):
        with pytest.raises(RegistryError, match="No space left on device") as full:
            small.promote("glyphs/2", "production", force=True, reason="x" * 200_000)
        assert "0 bytes left; make room" in str(full.value)

    @pytest.mark.parametrize("pages", [8, 16, 24, 32])
    def test_a_registry_that_is_made_says_that_it_is_full(self, tmp_path, pages):
        (tmp_path / "disk").mkdir()
        terms = ["-t", "tmpfs", "-o", f"size={pages * 4}k", "tmpfs"]
        with mounted(*terms, at=tmp_path / "disk") as folder:
            with pytest.raises(RegistryError, match=r"full|No space left"):
                Registry.init(folder / "root")

    def test_an_index_says_that_it_is_full_and_how_much_it_takes(self, small):
        with pytest.raises(RegistryError, match=r"takes 5,120 bytes.*has 0 left"):
            small.build_index("kanji")

    def test_rows_say_that_it_is_full_and_how_much_they_take(self, small):
        import numpy as np

        made_by = small.version("glyphs/1").fingerprint
        with pytest.raises(RegistryError, match="No space left") as full:
            small.gallery("kanji").append(["a"], np.ones((1, 64), np.float32), made_by)
        assert "1 row (256 bytes and more)" in str(full.value)
        assert "Nothing was appended" in str(full.value)

    def test_an_export_leaves_the_older_file(self, small, tmp_path):
        small.export_rows("kanji", tmp_path / "rows.arrow")
        place = small.root.path("rows.arrow")
        place.parent.parent.joinpath("filler").unlink()
        small.export_rows("kanji", place)
        before = place.read_bytes()
        with open(place.parent.parent / "filler", "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass
        with pytest.raises(RegistryError, match="No space left"):
            small.export_rows("kanji", place)
        assert place.read_bytes() == before

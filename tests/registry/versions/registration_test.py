import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from registry import (
    IntegrityError,
    InvalidModelError,
    NameRefusedError,
    NotFoundError,
    Registry,
    RegistryError,
    UsageError,
    VersionExistsError,
)
from registry.artifacts.storage import ArtifactRoot
from registry.fingerprint import fingerprint


def test_a_version_has_the_layout_of_tensorflow_serving(registry, make_model):
    version = registry.register("glyphs", make_model("a"))
    folder = Path(version.location)
    assert folder == Path(registry.root.url, "glyphs", "1")
    assert (folder / "saved_model.pb").is_file()
    assert (folder / "variables" / "variables.data").read_bytes() == b"a"
    manifest = json.loads((folder / "assets.extra" / "manifest.json").read_text())
    assert manifest["fingerprint"] == version.fingerprint == fingerprint(folder)
    assert manifest["files"]["variables/variables.data"]["size"] == 1


def test_what_the_exporter_wrote_is_kept(registry, make_model):
    registry.register("glyphs", make_model("a", size=32, training={"loss": "CosFace"}))
    version = registry.version("glyphs/1")
    assert (version.embedding_size, version.distance) == (32, "cosine")
    assert version.training == {"loss": "CosFace"}


def test_numbers_count_up_for_each_model(registry, make_model):
    for model, name in [("glyphs", "a"), ("glyphs", "b"), ("faces", "c")]:
        registry.register(model, make_model(name))
    assert [v.name for v in registry.versions()] == ["faces/1", "glyphs/1", "glyphs/2"]
    assert [v.name for v in registry.versions("glyphs")] == ["glyphs/1", "glyphs/2"]


def test_the_predecessor_is_kept_by_name(registry, make_model):
    registry.register("glyphs", make_model("a"))
    assert registry.register(
        "glyphs", make_model("b"), predecessor="glyphs/1"
    ).predecessor == ("glyphs/1")


def test_a_predecessor_that_is_not_there_is_refused(registry, make_model):
    with pytest.raises(NotFoundError, match="no model 'glyphs'"):
        registry.register("glyphs", make_model("a"), predecessor="glyphs/7")


@pytest.mark.parametrize("name", ["../x", "", "galleries", "a/b"])
def test_an_unfit_name_changes_nothing(registry, make_model, name):
    with pytest.raises(NameRefusedError):
        registry.register(name, make_model("a"))
    assert all(name.startswith("registry.db") for name in os.listdir(registry.root.url))


def test_the_same_files_are_not_registered_twice(registry, make_model):
    registry.register("glyphs", make_model("a"))
    with pytest.raises(VersionExistsError, match="glyphs/1 already") as caught:
        registry.register("glyphs", make_model("again", weights=b"a"))
    assert caught.value.version == "glyphs/1"


def test_a_number_can_be_asked_for(registry, make_model):
    assert registry.register("glyphs", make_model("a"), number=7).name == "glyphs/7"
    assert registry.register("glyphs", make_model("b")).name == "glyphs/8"


def test_a_number_that_exists_is_refused(registry, make_model):
    registry.register("glyphs", make_model("a"))
    with pytest.raises(VersionExistsError, match="glyphs/1 exists"):
        registry.register("glyphs", make_model("b"), number=1)


def test_a_folder_that_the_registry_does_not_know_is_not_overwritten(
    registry, make_model
):
    stranger = Path(registry.root.url, "glyphs", "1", "precious")
    stranger.mkdir(parents=True)
    with pytest.raises(RegistryError, match="Move it away"):
        registry.register("glyphs", make_model("a"))
    assert stranger.exists()


def test_a_size_that_contradicts_the_model_is_refused(registry, make_model):
    with pytest.raises(InvalidModelError, match="64 by what it gives for a picture"):
        registry.register("glyphs", make_model("a"), embedding_size=128)


def test_a_foreign_model_needs_its_distance_named(registry, make_model):
    folder = make_model("a")
    (folder / "assets.extra" / "version.json").unlink()
    with pytest.raises(UsageError, match="--distance"):
        registry.register("glyphs", folder)
    version = registry.register("glyphs", folder, distance="l2")
    assert (version.embedding_size, version.distance) == (64, "l2")


def test_a_directory_without_saved_model_is_refused(registry, tmp_path):
    with pytest.raises(InvalidModelError, match=r"saved_model\.pb"):
        registry.register("glyphs", tmp_path)
    assert registry.versions() == []


def test_saved_model_is_written_last(registry, make_model, monkeypatch):
    written = []
    write = ArtifactRoot.write

    def watch(self, location, *rest):
        written.append(location.rpartition("/")[2])
        return write(self, location, *rest)

    monkeypatch.setattr(ArtifactRoot, "write", watch)
    registry.register("glyphs", make_model("a"))
    assert written[-2:] == ["manifest.json", "saved_model.pb"]


@pytest.mark.parametrize("fails_at", ["variables.data", "manifest", "saved_model.pb"])
def test_a_full_disk_leaves_nothing(registry, make_model, monkeypatch, fails_at):
    write = ArtifactRoot.write

    def full(self, location, *rest):
        if fails_at in location:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, location, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(ArtifactRoot, "write", full)
        with pytest.raises(RegistryError, match=r"No space left.*Nothing was"):
            registry.register("glyphs", make_model("a"))
    assert registry.versions() == []
    assert not Path(registry.root.url, "glyphs", "1").exists()
    assert registry.register("glyphs", make_model("b")).name == "glyphs/2"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_really_full_disk_leaves_nothing(make_model, tmp_path):
    root = tmp_path / "small"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(root)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        registry = Registry.init(root)
        with pytest.raises(RegistryError, match="No space left"):
            registry.register("glyphs", make_model("a", weights=os.urandom(1 << 21)))
        assert registry.versions() == []
        assert registry.register("glyphs", make_model("b")).name == "glyphs/2"
        registry.database.close()
    finally:
        subprocess.run(["umount", "-l", str(root)], check=True)


def test_files_that_change_while_they_are_copied_are_refused(
    registry, make_model, monkeypatch
):
    folder = make_model("a")
    write = ArtifactRoot.write

    def meddle(self, location, *rest):
        (folder / "variables" / "variables.data").write_bytes(b"other")
        return write(self, location, *rest)

    monkeypatch.setattr(ArtifactRoot, "write", meddle)
    with pytest.raises(IntegrityError, match="changed while") as caught:
        registry.register("glyphs", folder)
    assert caught.value.files == ("variables/variables.data",)
    assert registry.versions() == []


KILLED_AT = ["variables.data", "manifest.json", "saved_model.pb", "published"]


@pytest.mark.parametrize("instant", KILLED_AT)
def test_a_killed_registration_is_invisible_and_cleared_by_the_next(
    registry, make_model, kill_while, instant
):
    """SIGKILL while a file is half written, or when all are but nobody knows."""
    call = 'Registry(root).register("glyphs", folder)'
    kill_while(call, registry.root.url, make_model("a"), instant)

    assert registry.versions() == []
    with pytest.raises(NotFoundError):
        registry.version("glyphs/1")
    left = Path(registry.root.url, "glyphs", "1")
    assert left.exists()
    assert (left / "saved_model.pb").exists() == (instant == "published")

    assert registry.register("glyphs", make_model("b")).name == "glyphs/2"
    assert not left.exists()
    assert [v.name for v in registry.versions()] == ["glyphs/2"]
    assert registry.register("glyphs", make_model("a-again")).name == "glyphs/3"


def test_a_registration_that_is_alive_is_left_alone(registry, make_model, monkeypatch):
    write = ArtifactRoot.write
    other = make_model("b")

    def meanwhile(self, location, *rest):
        monkeypatch.setattr(ArtifactRoot, "write", write)
        assert registry.register("glyphs", other).name == "glyphs/2"
        return write(self, location, *rest)

    monkeypatch.setattr(ArtifactRoot, "write", meanwhile)
    assert registry.register("glyphs", make_model("a")).name == "glyphs/1"
    assert [v.name for v in registry.versions()] == ["glyphs/1", "glyphs/2"]


def test_a_silent_writer_of_another_machine_loses_its_place_not_its_neighbours(
    registry, make_model, monkeypatch
):
    from registry.artifacts import reservation
    from registry.artifacts.writer import Writer

    write = ArtifactRoot.write
    other = make_model("b")

    def much_later(self, location, *rest):
        with monkeypatch.context() as patch:
            patch.setattr(ArtifactRoot, "write", write)
            patch.setattr(Writer, "alive", lambda self: None)
            later = reservation.now() + 2 * reservation.LEASE
            patch.setattr(reservation, "now", lambda: later)
            assert registry.register("glyphs", other).name == "glyphs/2"
        monkeypatch.setattr(ArtifactRoot, "write", write)
        return write(self, location, *rest)

    monkeypatch.setattr(ArtifactRoot, "write", much_later)
    with pytest.raises(RegistryError, match="cleared by another process"):
        registry.register("glyphs", make_model("a"))
    assert [v.name for v in registry.versions()] == ["glyphs/2"]
    assert Path(registry.root.url, "glyphs", "2", "saved_model.pb").exists()
    assert not Path(registry.root.url, "glyphs", "1").exists()


def test_two_writers_get_different_numbers(registry, make_model, environment):
    script = (
        "import sys; from registry import Registry\n"
        "from tests.registry.stand_in import take_stand_ins; take_stand_ins()\n"
        "registry = Registry(sys.argv[1])\n"
        "for folder in sys.argv[2:]:\n"
        "    registry.register('glyphs', folder)\n"
    )
    folders = [str(make_model(f"m{n}")) for n in range(8)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, registry.root.url, *part], env=environment
        )
        for part in (folders[:4], folders[4:])
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    versions = registry.versions("glyphs")
    assert [v.number for v in versions] == list(range(1, 9))
    assert {v.fingerprint for v in versions} == {fingerprint(f) for f in folders}
    assert not any(registry.verify().values())


def test_a_remote_root_holds_versions_too(make_model, tmp_path):
    url = f"memory://registry-{time.time_ns()}"
    database = f"sqlite:///{tmp_path}/elsewhere.db"
    registry = Registry.init(url, database=database)
    version = registry.register("glyphs", make_model("a"))
    assert version.location == f"{url}/glyphs/1"
    assert registry.verify() == {"glyphs/1": []}
    with registry.local_version(version) as folder:
        assert fingerprint(folder) == version.fingerprint


def test_a_remote_root_needs_a_database_elsewhere():
    with pytest.raises(UsageError, match="--database"):
        Registry.init("memory://registry")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("embedding_size", "64", "`embedding_size`.*'64'"),
        ("embedding_size", [64], "`embedding_size`"),
        ("embedding_size", -64, "`embedding_size`.*-64"),
        ("distance", ["cosine"], "`distance`"),
        ("training", 5, "`training`.*5"),
    ],
)
def test_what_the_exporter_wrote_wrongly_is_named(
    registry, make_model, key, value, said
):
    path = make_model("a") / "assets.extra" / "version.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(UsageError, match=said):
        registry.register("glyphs", path.parents[1])
    assert registry.versions() == []


def test_a_training_summary_with_nan_is_kept_without_it(registry, make_model):
    model = make_model("a", training={"loss": float("nan"), "steps": 3})
    assert registry.register("glyphs", model).training == {"loss": None, "steps": 3}


def test_a_root_may_have_any_name(make_model, tmp_path):
    root = tmp_path / "a root?x=1 [b] 100%25 #c é::d"
    registry = Registry.init(root)
    registry.register("glyphs", make_model("a"))
    assert registry.verify() == {"glyphs/1": []}
    assert registry.promote("glyphs/1", "production", require_compatible=True)
    assert (root / "registry.db").is_file()
    registry.database.close()


def test_after_the_largest_number_there_is_none_that_no_command_accepts(
    registry, make_model
):
    assert registry.register("toys", make_model("a"), number=999_999_999)
    with pytest.raises(UsageError, match=r"no number after toys/999999999.*another"):
        registry.register("toys", make_model("b"))
    with pytest.raises(UsageError, match="no number after"):
        registry.register("others", make_model("c"), number=1_000_000_000)
    assert [v.name for v in registry.versions()] == ["toys/999999999"]
    assert registry.resolve("toys/999999999").number == 999_999_999

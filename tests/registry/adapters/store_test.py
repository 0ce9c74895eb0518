import errno
import importlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from registry import (
    AdapterExistsError,
    IntegrityError,
    InvalidAdapterError,
    NotFoundError,
    Registry,
    RegistryError,
    UsageError,
)
from registry.artifacts.storage import ArtifactRoot
from registry.fingerprint import fingerprint


@pytest.fixture
def two(registry, make_model):
    """Two versions of 64 components."""
    for name in "ab":
        registry.register("glyphs", make_model(name))
    return registry


def test_an_adapter_is_kept_with_what_it_says_of_itself(two, make_adapter):
    added = two.add_adapter(make_adapter("ridge"))
    adapter = two.adapter("glyphs:1")
    assert adapter == added
    assert adapter.old_fingerprint == two.version("glyphs/1").fingerprint
    assert adapter.new_fingerprint == two.version("glyphs/2").fingerprint
    assert (adapter.direction, adapter.method) == ("old-to-new", "Ridge")
    assert (adapter.pairs, adapter.settings) == (100, {"strength": 0.5})
    assert (adapter.input_size, adapter.output_size) == (64, 64)
    assert (adapter.side_size, adapter.has_variance) == (None, False)


def test_its_files_lie_below_the_root_with_their_fingerprint(two, make_adapter):
    source = make_adapter("ridge")
    adapter = two.add_adapter(source)
    folder = Path(adapter.location)
    assert folder == Path(two.root.url, "adapters", "glyphs", "1")
    assert adapter.fingerprint == fingerprint(folder) == fingerprint(source)
    manifest = json.loads((folder / "assets.extra" / "manifest.json").read_text())
    assert manifest["fingerprint"] == adapter.fingerprint
    assert set(manifest["files"]) == {path.name for path in source.iterdir()}


def test_what_is_registered_can_be_loaded(two, make_adapter):
    from keras_bct.adapters import load_adapter

    source = make_adapter("ridge")
    adapter = two.add_adapter(source)
    rows = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    with two.local_adapter(adapter) as folder:
        np.testing.assert_array_equal(
            load_adapter(folder).transform(rows), load_adapter(source).transform(rows)
        )


def test_one_saved_over_another_kind_can_be_registered(two, make_adapter):
    from keras_bct.adapters import AffineMap, OldToNew, ResidualMap, load_adapter

    folder = make_adapter("ridge")
    ridge = load_adapter(folder)
    affine = AffineMap(np.eye(64), np.zeros(64))
    OldToNew(
        map=ResidualMap(affine, np.eye(64), np.zeros(64), np.eye(64)),
        method="by hand",
        pairs=0,
        old_fingerprint=ridge.old_fingerprint,
        new_fingerprint=ridge.new_fingerprint,
    ).save(folder)
    ridge.save(folder)

    assert two.add_adapter(folder).method == "Ridge"


def test_numbers_count_up_for_the_model_of_the_new_version(
    two, make_model, make_adapter
):
    two.register("faces", make_model("c"))
    for name, new, seed in [("p", "glyphs/2", 0), ("q", "faces/1", 1)]:
        two.add_adapter(make_adapter(name, new, seed=seed))
    two.add_adapter(make_adapter("r", "glyphs/2", seed=2))
    assert [str(a) for a in two.adapters()] == ["faces:1", "glyphs:1", "glyphs:2"]
    assert [str(a) for a in two.adapters("glyphs")] == ["glyphs:1", "glyphs:2"]


def test_the_same_files_are_not_registered_twice(two, make_adapter):
    two.add_adapter(make_adapter("ridge"))
    with pytest.raises(AdapterExistsError, match="glyphs:1 already") as caught:
        two.add_adapter(make_adapter("again"))
    assert caught.value.adapter == "glyphs:1"


@pytest.mark.parametrize("side", ["old_fingerprint", "new_fingerprint"])
def test_a_version_that_is_not_registered_is_named(two, make_adapter, side):
    folder = make_adapter("ridge", **{side: "e" * 64})
    with pytest.raises(InvalidAdapterError, match=rf"`{side}`.*eeee") as refused:
        two.add_adapter(folder)
    # What the message says gives a fingerprint can be called as it stands.
    (call,) = re.findall(r"`(registry\.[\w.]+)\(directory\)`", str(refused.value))
    module, _, function = call.rpartition(".")
    given = getattr(importlib.import_module(module), function)(
        two.version("glyphs/1").location
    )
    assert given == two.version("glyphs/1").fingerprint
    assert two.adapters() == []


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((32, 64), "old side of .* has 32 components. glyphs/1 has 64"),
        ((64, 32), "new side of .* has 32 components. glyphs/2 has 64"),
    ],
)
def test_another_size_than_its_version_has_is_refused(two, make_adapter, sizes, said):
    with pytest.raises(InvalidAdapterError, match=said):
        two.add_adapter(make_adapter("ridge", sizes=sizes))


def test_an_adapter_from_new_to_old_is_kept_too(two, make_adapter, make_model):
    two.register("glyphs", make_model("c", size=16))
    adapter = two.add_adapter(
        make_adapter("back", new="glyphs/3", sizes=(16, 64), backward=True)
    )
    assert (adapter.direction, str(adapter)) == ("new-to-old", "glyphs:1")


def remove_the_matrix(folder):
    next(folder.glob("*matrix.npy")).unlink()


def change_the_matrix(folder):
    path = next(folder.glob("*matrix.npy"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def add_a_file(folder):
    (folder / "evil.pkl").write_bytes(b"cos\nsystem\n")


def name_a_file_elsewhere(folder):
    path = folder / "adapter.json"
    described = json.loads(path.read_text())
    described["files"]["../../../etc/passwd"] = "0" * 64
    path.write_text(json.dumps(described))


def link_a_file_in(folder):
    path = next(folder.glob("*matrix.npy"))
    (folder / "real").mkdir()
    path.rename(folder / "real" / path.name)
    (folder / "linked").symlink_to(folder / "real")


def cut_the_description(folder):
    path = folder / "adapter.json"
    path.write_text(path.read_text()[:40])


def remove_the_description(folder):
    (folder / "adapter.json").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        remove_the_matrix,
        change_the_matrix,
        add_a_file,
        name_a_file_elsewhere,
        link_a_file_in,
        cut_the_description,
        remove_the_description,
    ],
)
def test_a_torn_adapter_is_refused_and_leaves_nothing(two, make_adapter, damage):
    folder = make_adapter("ridge")
    damage(folder)
    with pytest.raises(UsageError):
        two.add_adapter(folder)
    assert two.adapters() == []
    assert not Path(two.root.url, "adapters").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("direction", "sideways"),
        ("map", "nope"),
        ("pairs", -5),
        ("pairs", 2**31),
        ("pairs", 2**70),
        ("side_size", 0),
        ("side_size", 2**31),
        ("input_size", 0),
        ("output_size", 0),
        ("method", "m" * 101),
        ("settings", {"strength": 2**70, "rank": []}),
    ],
)
def test_what_no_adapter_says_of_itself_is_refused_by_name(
    two, make_adapter, name, value
):
    """It could not be loaded, or the database could not keep it."""
    folder = make_adapter("ridge")
    described = json.loads((folder / "adapter.json").read_text())
    (folder / "adapter.json").write_text(json.dumps({**described, name: value}))
    with pytest.raises(InvalidAdapterError, match=name):
        two.add_adapter(folder)
    assert two.adapters() == []


@pytest.mark.parametrize(
    "name", ["", "glyphs", "glyphs:0", "glyphs:../1", "../x:1", "a/b:1", "glyphs/1"]
)
def test_names_that_are_none_are_refused(two, name):
    with pytest.raises(UsageError):
        two.adapter(name)


def test_an_adapter_that_is_not_there_is_named_with_those_that_are(two, make_adapter):
    two.add_adapter(make_adapter("ridge"))
    with pytest.raises(NotFoundError, match=r"glyphs:7. Registered: glyphs:1"):
        two.adapter("glyphs:7")


@pytest.mark.parametrize("fails_at", ["matrix", "manifest", "adapter.json"])
def test_a_full_disk_leaves_nothing(two, make_adapter, monkeypatch, fails_at):
    write = ArtifactRoot.write

    def full(self, location, *rest):
        if fails_at in location:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, location, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(ArtifactRoot, "write", full)
        with pytest.raises(RegistryError, match=r"No space left.*Nothing was"):
            two.add_adapter(make_adapter("ridge"))
    assert two.adapters() == []
    assert not Path(two.root.url, "adapters", "glyphs", "1").exists()
    assert str(two.add_adapter(make_adapter("ridge"))) == "glyphs:2"


@pytest.mark.parametrize(
    "instant", ["matrix", "manifest.json", "adapter.json", "published"]
)
def test_a_killed_registration_is_invisible_and_cleared_by_the_next(
    two, make_adapter, kill_while, instant
):
    """SIGKILL while a file is half written, or when all are but nobody knows."""
    folder = make_adapter("ridge")
    kill_while("Registry(root).add_adapter(folder)", two.root.url, folder, instant)

    assert two.adapters() == []
    left = Path(two.root.url, "adapters", "glyphs", "1")
    assert left.exists()
    assert (left / "adapter.json").exists() == (instant == "published")
    assert str(two.add_adapter(folder)) == "glyphs:2"
    assert not left.exists()
    assert not any(two.verify().values())


def test_two_writers_get_different_numbers(two, make_adapter, environment):
    script = (
        "import sys; from registry import Registry\n"
        "registry = Registry(sys.argv[1])\n"
        "for folder in sys.argv[2:]:\n"
        "    registry.add_adapter(folder)\n"
    )
    folders = [str(make_adapter(f"m{n}", seed=n)) for n in range(8)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, two.root.url, *part], env=environment
        )
        for part in (folders[:4], folders[4:])
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert [a.number for a in two.adapters()] == list(range(1, 9))
    assert {a.fingerprint for a in two.adapters()} == set(map(fingerprint, folders))


class TestTampering:
    """A file of a registered adapter is not what it was."""

    @pytest.fixture
    def tampered(self, two, make_adapter, fill_gallery):
        fill_gallery("kanji", "glyphs/1")
        adapter = two.add_adapter(make_adapter("ridge"))
        change_the_matrix(Path(adapter.location))
        return two

    def test_is_named(self, tampered):
        (bad,) = tampered.verify()["adapter glyphs:1"]
        assert bad.endswith("matrix.npy: content changed")

    def test_makes_no_index(self, tampered):
        with pytest.raises(IntegrityError, match=r"matrix\.npy: content") as error:
            tampered.build_index("kanji", through=["glyphs:1"])
        assert error.value.exit_code == 4
        assert tampered.indices() == []

    def test_makes_no_evidence(self, tampered, protocol):
        with pytest.raises(IntegrityError, match=r"matrix\.npy: content"):
            tampered.evaluate("glyphs/2", "glyphs/1", protocol, through="glyphs:1")
        assert tampered.edges() == []

    def test_is_found_even_where_the_description_was_changed_with_it(self, tampered):
        """Whoever replaces a file also replaces its digest."""
        import hashlib

        folder = Path(tampered.adapter("glyphs:1").location)
        described = json.loads((folder / "adapter.json").read_text())
        for name in described["files"]:
            content = (folder / name).read_bytes()
            described["files"][name] = hashlib.sha256(content).hexdigest()
        (folder / "adapter.json").write_text(json.dumps(described))
        assert tampered.verify()["adapter glyphs:1"]


def test_a_remote_root_holds_adapters_too(make_model, tmp_path):
    from keras_bct.adapters import AffineMap, OldToNew

    url = f"memory://registry-{time.time_ns()}"
    registry = Registry.init(url, database=f"sqlite:///{tmp_path}/elsewhere.db")
    old, new = (registry.register("glyphs", make_model(name)) for name in "ab")
    OldToNew(
        map=AffineMap(np.eye(64), np.zeros(64)),
        old_fingerprint=old.fingerprint,
        new_fingerprint=new.fingerprint,
        method="by hand",
        pairs=0,
    ).save(tmp_path / "adapter")
    adapter = registry.add_adapter(tmp_path / "adapter")
    assert adapter.location == f"{url}/adapters/glyphs/1"
    with registry.local_adapter(adapter) as folder:
        assert fingerprint(folder) == adapter.fingerprint
    registry.database.close()
    assert os.listdir(tmp_path / "adapter")

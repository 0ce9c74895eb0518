import hashlib
import os
import shutil
import subprocess

import pytest

from registry.errors import InvalidModelError
from registry.fingerprint import FileDigest, combine, fingerprint


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "v" / "variables").mkdir(parents=True)
    (tmp_path / "v" / "assets.extra").mkdir()
    (tmp_path / "v" / "saved_model.pb").write_bytes(b"graph")
    (tmp_path / "v" / "variables" / "a b.data").write_bytes(b"weights")
    (tmp_path / "v" / "assets.extra" / "é.json").write_text("{}")
    return tmp_path / "v"


def test_it_is_what_coreutils_compute(folder):
    command = (
        "find . -type f ! -path ./assets.extra/manifest.json -printf '%P\\0'"
        " | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    )
    printed = subprocess.run(
        command, shell=True, cwd=folder, check=True, capture_output=True, text=True
    )
    assert fingerprint(folder) == printed.stdout.split()[0]


def test_the_registrys_own_manifest_is_left_out(folder):
    before = fingerprint(folder)
    (folder / "assets.extra" / "manifest.json").write_text("anything")
    assert fingerprint(folder) == before


def test_it_does_not_depend_on_where_the_files_lie(folder, tmp_path):
    assert fingerprint(shutil.copytree(folder, tmp_path / "other")) == fingerprint(
        folder
    )


def change_a_byte(folder):
    (folder / "variables" / "a b.data").write_bytes(b"weightS")


def rename_a_file(folder):
    (folder / "variables" / "a b.data").rename(folder / "variables" / "ab.data")


def add_an_empty_file(folder):
    (folder / "variables" / "empty").touch()


def move_a_byte_to_the_next_file(folder):
    (folder / "saved_model.pb").write_bytes(b"graphw")
    (folder / "variables" / "a b.data").write_bytes(b"eights")


@pytest.mark.parametrize(
    "change",
    [change_a_byte, rename_a_file, add_an_empty_file, move_a_byte_to_the_next_file],
)
def test_any_change_changes_it(folder, change):
    before = fingerprint(folder)
    change(folder)
    assert fingerprint(folder) != before


def test_a_linked_folder_is_refused(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidModelError, match="symbolic link"):
        fingerprint(folder)


def test_a_name_that_sha256sum_would_escape_is_refused(folder):
    (folder / "line\nbreak").touch()
    with pytest.raises(InvalidModelError, match="line break"):
        fingerprint(folder)


def test_a_name_that_is_not_utf_8_is_refused(folder):
    (folder / os.fsdecode(b"\xff")).touch()
    with pytest.raises(InvalidModelError, match="UTF-8"):
        fingerprint(folder)


def test_the_order_of_names_is_that_of_their_bytes_in_utf_8(monkeypatch):
    """As `LC_ALL=C sort` has it, also where the locale's encoding lacks the names."""
    files = {name: FileDigest(0, "0" * 64) for name in ("字", "é", "z", "\U0001f600")}
    lines = sorted(f"{'0' * 64}  {name}\n".encode() for name in files)
    monkeypatch.setattr("os.fsencode", lambda name: name.encode("ascii"))
    assert combine(files) == hashlib.sha256(b"".join(lines)).hexdigest()

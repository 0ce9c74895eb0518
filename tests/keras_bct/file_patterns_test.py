import os

import pytest

from keras_bct.file_patterns import matching_files, matching_paths


@pytest.fixture
def make(tmp_path):
    """Makes empty files; gives their folder."""

    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return tmp_path

    return make


def matched(root, pattern):
    return [os.path.relpath(file, root) for file in matching_files(root / pattern)]


def test_names_come_in_their_order(make):
    root = make("b-1", "b-0", "a", "c")
    assert matched(root, "[ab]*") == ["a", "b-0", "b-1"]


@pytest.mark.parametrize("name", ["run[1]/t.tfrecord", "a?b", "*", "[", "写真[\u2028]"])
def test_path_that_exists_is_that_file_and_no_pattern(make, name):
    root = make(name, "run1/t.tfrecord", "aXb", "other")
    assert matched(root, name) == [name]


def test_folder_that_exists_is_that_folder_at_the_beginning_of_a_pattern(make):
    root = make("run[1]/t-0", "run[1]/t-1", "run1/t-0", "写*/x[2]/t-0")
    assert matched(root, "run[1]/t-*") == ["run[1]/t-0", "run[1]/t-1"]
    assert matched(root, "写*/x[2]/t-?") == ["写*/x[2]/t-0"]


def test_folders_can_be_part_of_the_pattern(make):
    root = make("run1/t-0", "run2/t-0", "rest/t-0")
    assert matched(root, "run[12]/t-*") == ["run1/t-0", "run2/t-0"]


def test_hidden_files_are_not_matched_unless_they_are_named(make):
    root = make("._t.tfrecord", ".DS_Store", "t.tfrecord")
    assert matched(root, "*") == ["t.tfrecord"]
    assert matched(root, "._t*") == ["._t.tfrecord"]


def test_relative_paths_start_where_one_is(make, monkeypatch):
    monkeypatch.chdir(make("run[1]/t"))
    assert matching_files("run[1]/t") == ["run[1]/t"]
    assert matching_files("run[[]1]/*") == ["run[1]/t"]


def test_nothing_and_folders_are_refused_with_the_pattern(make):
    root = make("folder/t")
    with pytest.raises(FileNotFoundError, match=r"No file matches .*none-\*"):
        matching_files(root / "none-*")
    with pytest.raises(FileNotFoundError, match=r"is a folder. .*folder/\*.tfrecord"):
        matching_files(root / "folder")


def test_folders_are_matched_where_they_are_asked_for(make):
    root = make("run[1]/a/x", "run[1]/b/x", "run[1]/c", "run1/d")
    found = [os.path.relpath(path, root) for path in matching_paths(root / "run[1]/*")]
    assert found == ["run[1]/a", "run[1]/b", "run[1]/c"]
    assert matching_paths(root / "run[1]") == [str(root / "run[1]")]
    assert matching_paths(root / "none*") == []

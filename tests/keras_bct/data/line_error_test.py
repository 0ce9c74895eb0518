import pytest

from keras_bct.data.line_error import LineError, read_fields, whole_number


def test_error_names_file_and_line():
    error = LineError("lists/a.txt", 12, "a number", "'x'")
    assert str(error) == "lists/a.txt:12: expected a number. Received: 'x'"
    assert (error.path, error.line) == ("lists/a.txt", 12)


def test_fields_come_with_their_lines_numbers(tmp_path):
    file = tmp_path / "list.txt"
    file.write_bytes(b"a.jpg 0\r\nb.jpg\t1\n\n")
    assert list(read_fields(file, 2, "")) == [
        (1, ["a.jpg", "0"]),
        (2, ["b.jpg", "1"]),
    ]


@pytest.mark.parametrize(
    ("text", "line"), [("a 0\nb\n", 2), ("a 0 1\n", 1), ("a 0\n\nb 1\n", 2)]
)
def test_line_with_other_fields_is_named(tmp_path, text, line):
    file = tmp_path / "list.txt"
    file.write_text(text)
    with pytest.raises(LineError, match=rf"list\.txt:{line}: expected two fields"):
        list(read_fields(file, 2, "two fields"))


def test_bytes_of_another_encoding_are_named(tmp_path):
    file = tmp_path / "list.txt"
    file.write_bytes(b"a 0\n\xff 1\n")
    with pytest.raises(LineError, match=r"list\.txt:2: expected text in UTF-8"):
        list(read_fields(file, 2, ""))


@pytest.mark.parametrize("text", ["-1", "1.5", "", "x", "²"])
def test_only_whole_numbers_are_numbers(text):
    assert whole_number("f", 1, "065", "") == 65
    with pytest.raises(LineError, match="f:1: expected a number"):
        whole_number("f", 1, text, "a number")

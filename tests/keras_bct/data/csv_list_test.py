import pytest

from keras_bct.data import LineError, read_csv_list


@pytest.fixture
def listed(lay_out):
    """Writes a CSV file beside three pictures."""

    def write(text):
        pictures = dict.fromkeys(["i/1.jpg", "i/2.jpg", "i/3, red.jpg"])
        return lay_out(pictures | {"list.csv": text}) / "list.csv"

    return write


def test_columns_are_named_in_the_call(listed):
    file = listed(
        "name,file,who,seen by,note\n"
        "a,i/1.jpg,Ann,north,\n"
        'b,"i/3, red.jpg",Bob,south,"two\nlines"\n'
    )
    images = read_csv_list(file, image="file", label="who", id="name", camera="seen by")
    assert images.ids.tolist() == ["a", "b"]
    assert images.labels.tolist() == ["Ann", "Bob"]
    assert images.cameras.tolist() == ["north", "south"]
    assert images.paths[1] == str(file.parent / "i/3, red.jpg")


def test_without_an_id_the_file_is_the_id(listed):
    images = read_csv_list(listed("image,label\ni/1.jpg,x\ni/2.jpg,y\n"))
    assert images.ids.tolist() == ["i/1.jpg", "i/2.jpg"]
    assert images.cameras is None


def test_templates_and_media_are_kept(listed):
    file = listed("image,label,t,m\ni/1.jpg,x,7,v1\ni/2.jpg,x,7,v1\n")
    images = read_csv_list(file, template="t", medium="m")
    assert images.templates.tolist() == ["7", "7"]
    assert images.media.tolist() == ["v1", "v1"]


def test_cells_left_empty_are_not_known(listed):
    file = listed("image,label,seen\ni/1.jpg,x,\ni/2.jpg,,north\n")
    images = read_csv_list(file, camera="seen")
    assert images.labels.tolist() == ["x", ""]
    assert images.cameras.tolist() == ["", "north"]


def test_names_outside_latin_1_are_kept(lay_out):
    names = ["写/真.jpg", "\U0001f408.jpg", "a\u2028b.jpg", "é.jpg", "\u3000x.jpg"]
    text = "image,label\n" + "".join(f"{name},{name[0]}\n" for name in names)
    file = lay_out(dict.fromkeys(names) | {"list.csv": text}) / "list.csv"
    images = read_csv_list(file)
    assert images.ids.tolist() == names
    assert images.labels.tolist() == ["写", "\U0001f408", "a", "é", "\u3000"]


def test_list_in_another_encoding_is_named_with_its_line(listed):
    file = listed("")
    file.write_bytes("image,label\ni/1.jpg,Müller\n".encode("latin-1"))
    with pytest.raises(LineError, match=r"list\.csv:2: expected text in UTF-8"):
        read_csv_list(file)


def test_pictures_may_lie_elsewhere(listed):
    file = listed("image,label\n1.jpg,x\n")
    assert len(read_csv_list(file, directory=file.parent / "i")) == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "names of the columns"),
        ("image,class\n", 1, "'label' among them"),
        ("image,label\n", 2, "a picture"),
        ("image,label\ni/1.jpg\n", 2, "2 values"),
        ("image,label\ni/1.jpg,x\ni/3, red.jpg,x\n", 3, "Received: 3"),
        ("image,label\n,x\n", 2, "a value for 'image'"),
        ("image,label\ni/1.jpg,x\ni/1.jpg,y\n", 3, "stands on line 2"),
        ("image,label\ni/9.jpg,x\n", 2, r"i/9\.jpg"),
        ('image,label\ni/1.jpg,"x\n', 2, "comma-separated"),
    ],
)
def test_wrong_line_is_named(listed, text, line, words):
    with pytest.raises(LineError, match=rf"list\.csv:{line}: .*{words}"):
        read_csv_list(listed(text))

"""Pictures come in as people have them, and as a version takes them."""

import io

import numpy as np
import pytest
from PIL import Image

from registry import UsageError
from registry.galleries.picture_files import read_pictures
from registry.versions.fitted_pictures import fitted_pictures

GREY = (8, 8, 1)


def encoded(pixels, kind="PNG", **settings):
    stream = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(stream, kind, **settings)
    return stream.getvalue()


def decoded(image):
    return np.asarray(Image.open(io.BytesIO(image)))


@pytest.fixture
def folder(tmp_path):
    """Pictures of two classes, one of none, and what is no picture."""
    root = tmp_path / "pictures"
    for name in ("b/two.png", "a/deeper/one.jpg", "loose.png"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        kind = "JPEG" if name.endswith("jpg") else "PNG"
        (root / name).write_bytes(encoded(np.full((8, 8), len(name)), kind))
    (root / "a" / ".DS_Store").write_bytes(b"x")
    (root / "read me.txt").write_text("These are no records of pictures.")
    return root


class TestReading:
    def test_a_folder_gives_its_pictures_by_class(self, folder):
        found = read_pictures([str(folder)])
        assert found.ids.tolist() == ["a/deeper/one.jpg", "b/two.png", "loose.png"]
        assert found.labels.tolist() == ["a", "b", ""]
        assert found.cameras is None
        assert found.images[1] == (folder / "b" / "two.png").read_bytes()

    def test_a_pattern_gives_files_without_labels(self, folder):
        found = read_pictures([str(folder / "*" / "*.png"), str(folder / "loose.png")])
        assert found.ids.tolist() == ["two.png", "loose.png"]
        assert found.labels.tolist() == ["", ""]

    def test_a_path_that_exists_is_that_file(self, folder):
        odd = folder / "b[1].png"
        odd.write_bytes(encoded(np.zeros((8, 8))))
        assert read_pictures([str(odd)]).ids.tolist() == ["b[1].png"]

    @pytest.mark.parametrize(
        ("text", "ids", "labels", "cameras"),
        [
            ("image\nb/two.png\n", ["b/two.png"], [""], None),
            ("image,label\nb/two.png,x\n", ["b/two.png"], ["x"], None),
            (
                "id,camera,image,label\n1,c,b/two.png,x\n2,d,loose.png,y\n",
                ["1", "2"],
                ["x", "y"],
                ["c", "d"],
            ),
        ],
    )
    def test_a_list_says_what_is_known(self, folder, text, ids, labels, cameras):
        path = folder / "list.csv"
        path.write_text(text)
        found = read_pictures([str(path)])
        assert (found.ids.tolist(), found.labels.tolist()) == (ids, labels)
        assert (None if found.cameras is None else found.cameras.tolist()) == cameras

    def test_all_kinds_can_be_named_together(self, folder, pictures):
        from keras_bct.data import write_records

        records = pictures(1)
        write_records(folder / "toys.tfrecord", records)
        found = read_pictures([str(folder / "*.tfrecord"), str(folder / "loose.png")])
        assert len(found) == 91
        assert set(found.ids) == {*records.ids, "loose.png"}
        assert found.cameras[found.ids == "loose.png"] == [""]
        assert found.cameras[found.ids == "1-0-2"] == ["camera-2"]

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("*.webp", "matches nothing"),
            ("nowhere", "matches nothing"),
            ("empty", "a folder without any"),
            ("read me.txt", "tf.train.Example|TFRecord"),
        ],
    )
    def test_what_holds_no_pictures_is_refused(self, folder, name, said):
        (folder / "empty").mkdir()
        with pytest.raises(UsageError, match=said):
            read_pictures([str(folder / name)])

    def test_two_files_of_one_name_are_refused(self, folder):
        with pytest.raises(UsageError, match=r"'loose\.png'"):
            read_pictures([str(folder / "loose.png")] * 2)


class TestFitting:
    def test_what_fits_stays_as_it_is(self):
        images = [encoded(np.zeros((8, 8))), encoded(np.zeros((8, 8)), "JPEG"), b"?"]
        assert fitted_pictures(images, list("abc"), GREY) == images
        colour = [encoded(np.zeros((9, 5, 3)))]
        assert fitted_pictures(colour, ["a"], (None, None, 3)) == colour

    def test_another_size_is_stretched_to_the_versions(self):
        left_dark = np.repeat([[0] * 20 + [255] * 20], 10, axis=0)
        (found,) = fitted_pictures([encoded(left_dark)], ["a"], GREY)
        pixels = decoded(found)
        assert pixels.shape == (8, 8)
        assert (pixels[:, :3] < 5).all() and (pixels[:, 5:] > 250).all()

    def test_it_is_what_the_converter_writes(self):
        from keras_bct.data import Preparation

        image = encoded(np.random.default_rng(0).integers(0, 256, (30, 20, 3)), "JPEG")
        (found,) = fitted_pictures([image], ["a"], GREY)
        assert found == Preparation(8, 8, grey=True, encoding="png")(image)

    def test_a_turned_picture_is_set_upright(self):
        exif = Image.Exif()
        exif[274] = 6  # Its top is at the right: turn it by 90 degrees clockwise.
        lying = encoded(np.repeat([[0] * 8 + [255] * 8], 8, axis=0), "PNG", exif=exif)
        (found,) = fitted_pictures([lying], ["a"], (None, None, 1))
        pixels = decoded(found)
        assert pixels.shape == (16, 8)
        assert (pixels[:8] == 0).all() and (pixels[8:] == 255).all()

    @pytest.mark.parametrize("kind", ["WEBP", "TIFF", "BMP", "GIF"])
    def test_other_formats_become_png(self, kind):
        settings = {"lossless": True} if kind == "WEBP" else {}
        given = encoded(np.full((8, 8), 77), kind, **settings)
        (found,) = fitted_pictures([given], ["a"], GREY)
        assert found.startswith(b"\x89PNG")
        assert (decoded(found) == 77).all()

    def test_a_picture_without_a_known_range_is_named(self):
        stream = io.BytesIO()
        Image.fromarray(np.zeros((4, 4), np.float32)).save(stream, "TIFF")
        with pytest.raises(UsageError, match=r"'deep'.*32 bits"):
            fitted_pictures([stream.getvalue()], ["deep"], GREY)


def test_a_folder_is_embedded_in_the_versions_size(
    registry, toy_model, toy_embeddings, pictures, tmp_path
):
    version = registry.register("toys", toy_model("old"))
    records = pictures(2)
    for name, label, image in zip(
        records.ids, records.labels, records.images, strict=True
    ):
        (tmp_path / "large" / label).mkdir(parents=True, exist_ok=True)
        large = decoded(image).repeat(2, axis=0).repeat(2, axis=1)
        (tmp_path / "large" / label / f"{name}.png").write_bytes(encoded(large))
    given = read_pictures([str(tmp_path / "large")])
    assert registry.add_pictures("large", given, version) == 90
    stored = registry.gallery("large").read()
    assert stored.column("id") == given.ids.tolist()
    assert stored.column("label") == given.labels.tolist()
    given.images[:] = fitted_pictures(given.images, given.ids, GREY)
    wanted = toy_embeddings("old", given)
    np.testing.assert_allclose(stored.embeddings, wanted, atol=1e-4)


def test_pictures_without_a_label_are_stored_without_one(registry, toy_model, tmp_path):
    version = registry.register("toys", toy_model("old"))
    (tmp_path / "one.png").write_bytes(encoded(np.arange(64).reshape(8, 8)))
    found = read_pictures([str(tmp_path / "*.png")])
    registry.add_pictures("toys/all", found, version)
    stored = registry.gallery("toys/all").read()
    assert stored.column("id") == ["one.png"]
    assert stored.column("label") == stored.column("camera") == [None]

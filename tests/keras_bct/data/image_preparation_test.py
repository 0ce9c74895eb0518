import io

import numpy as np
import pytest
from PIL import Image

from keras_bct.data import Preparation
from keras_bct.data.image_preparation import similarity


def png(array):
    stream = io.BytesIO()
    Image.fromarray(np.asarray(array, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def prepare(array, height, width, *, box=None, landmarks=None, **options):
    preparation = Preparation(height, width, encoding="png", **options)
    result = preparation(png(array), box=box, landmarks=landmarks)
    return np.asarray(Image.open(io.BytesIO(result)))


# Columns are told apart by red, rows by green.
MAP = np.stack(
    [*np.meshgrid(np.arange(0, 200, 2), np.arange(0, 120, 2)), np.zeros((60, 100))],
    axis=-1,
)


def test_picture_is_stretched_to_the_size():
    result = prepare(MAP, 60, 50)
    assert result.shape == (60, 50, 3)
    np.testing.assert_allclose(result[:, 10, 0], MAP[0, 20:22, 0].mean(), atol=1)


def test_centre_is_taken_at_the_scale_of_the_shorter_side():
    result = prepare(MAP, 40, 40, shorter_side=60)
    np.testing.assert_array_equal(result, MAP[10:50, 30:70])


def test_box_is_cut_out_and_widened_to_the_results_shape():
    # 20 wide and 40 high becomes 40 x 40 around the same centre.
    result = prepare(MAP, 40, 40, box=np.array([40, 10, 20, 40], np.float32))
    np.testing.assert_array_equal(result, MAP[10:50, 30:70])


def test_margin_is_shared_by_both_sides():
    box = np.array([40, 20, 20, 20], np.float32)
    result = prepare(MAP, 40, 40, box=box, box_margin=1.0)
    np.testing.assert_array_equal(result, MAP[10:50, 30:70])


def test_beyond_the_picture_is_black():
    box = np.array([-10, 0, 20, 20], np.float32)
    result = prepare(MAP + 50, 20, 20, box=box)
    assert not result[:, :10].any()
    np.testing.assert_array_equal(result[:, 10:], (MAP + 50)[:20, :10])


def test_landmarks_come_to_where_aligned_faces_have_them():
    # Dots on the landmarks of a face that is turned by 30 degrees and twice as large.
    reference = np.array(
        [[38.3, 51.7], [73.5, 51.5], [56.0, 71.7], [41.5, 92.4], [70.7, 92.2]]
    )
    turn = 2 * np.array([[0.866, -0.5], [0.5, 0.866]])
    landmarks = (reference @ turn.T + [150, 20]).astype(np.float32)
    y, x = np.mgrid[:400, :400]
    picture = np.zeros((400, 400))
    for point in landmarks:
        picture += 250 * np.exp(-((x - point[0]) ** 2 + (y - point[1]) ** 2) / 18)
    aligned = prepare(picture.clip(0, 255), 112, 112, landmarks=landmarks, grey=True)
    for column, row in reference:
        patch = aligned[int(row) - 6 : int(row) + 8, int(column) - 6 : int(column) + 8]
        weights = patch.astype(float)
        rows, columns = np.mgrid[: patch.shape[0], : patch.shape[1]]
        centre_x = (columns * weights).sum() / weights.sum() + int(column) - 6
        centre_y = (rows * weights).sum() / weights.sum() + int(row) - 6
        assert abs(centre_x - column) < 0.3 and abs(centre_y - row) < 0.3


def test_landmarks_can_be_left_unused():
    points = np.ones((5, 2), np.float32)
    np.testing.assert_array_equal(
        prepare(MAP, 60, 100, landmarks=points, align=False), MAP
    )
    with pytest.raises(ValueError, match="landmarks in different places"):
        prepare(MAP, 60, 100, landmarks=points)


def test_similarity_undoes_turn_scale_and_shift():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 2))
    turn = 3 * np.array([[0.6, -0.8], [0.8, 0.6]])
    found = similarity(points, points @ turn.T + [4, -5])
    np.testing.assert_allclose(found, np.column_stack([turn, [4, -5]]), atol=1e-12)


@pytest.mark.parametrize("mode", ["CMYK", "P", "L", "RGBA", "LA"])
def test_every_kind_of_colour_becomes_three_channels(mode):
    # ImageNet has JPEGs in CMYK and a PNG that is called JPEG.
    stream = io.BytesIO()
    Image.new(mode, (8, 8)).save(stream, "JPEG" if mode == "CMYK" else "PNG")
    result = Preparation(4, 4)(stream.getvalue())
    opened = Image.open(io.BytesIO(result))
    assert (opened.format, opened.mode, opened.size) == ("JPEG", "RGB", (4, 4))


def test_grey_has_one_channel():
    assert prepare(MAP, 4, 6, grey=True).shape == (4, 6)
    assert Preparation(4, 6, grey=True).image_shape == (4, 6, 1)
    assert Preparation(4, 6).image_shape == (4, 6, 3)


@pytest.mark.parametrize("content", [b"", b"not a picture", png(MAP)[:60]])
def test_bytes_that_are_no_picture_are_refused(content):
    with pytest.raises(ValueError, match="a picture that can be decoded"):
        Preparation(4, 4)(content)


def test_empty_box_is_refused():
    with pytest.raises(ValueError, match="positive width"):
        prepare(MAP, 4, 4, box=np.array([1, 1, 0, 5], np.float32))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("height", {"height": 0}),
        ("shorter_side", {"shorter_side": 7}),
        ("box_margin", {"box_margin": -0.1}),
        ("encoding", {"encoding": "gif"}),
        ("quality", {"quality": 100}),
    ],
)
def test_value_out_of_range_is_refused(name, options):
    with pytest.raises(ValueError, match=f"`{name}`"):
        Preparation(**{"height": 8, "width": 8, **options})

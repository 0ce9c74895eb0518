import numpy as np
import pytest

from keras_bct.evaluation import EmbeddingSet, measure, pool_templates


def items(rows, templates, media=None, qualities=None, labels=None, cameras=None):
    count = len(rows)
    return EmbeddingSet(
        ids=[f"i{i}" for i in range(count)],
        labels=labels or ["x"] * count,
        cameras=cameras,
        embeddings=np.array(rows, float)[:, None],
        templates=templates,
        media=media,
        qualities=qualities,
    )


def test_a_template_is_the_mean_of_its_media():
    # The video of 1 and 3 is one medium of 2; with the picture of 8 that makes 5.
    pooled = pool_templates(
        items([1, 8, 3, 7], ["s", "s", "s", "t"], ["v", "p", "v", "p"])
    )

    assert pooled.ids.tolist() == ["s", "t"]
    assert pooled.embeddings.ravel().tolist() == [5, 7]
    assert pooled.templates is None


def test_without_media_every_item_is_one():
    assert pool_templates(items([1, 8, 3], ["s"] * 3)).embeddings.item() == 4


def test_qualities_weigh_frames_and_media():
    # Video: (1 * 3 + 3 * 1) / 4 = 1.5 of mean quality 2; picture 8 of quality 1.
    pooled = pool_templates(
        items([1, 3, 8], ["s"] * 3, ["v", "v", "p"], qualities=[3, 1, 1])
    )

    assert pooled.embeddings.item() == pytest.approx((2 * 1.5 + 8) / 3)


def test_a_frame_without_quality_counts_for_nothing():
    pooled = pool_templates(items([1, 3], ["s"] * 2, qualities=[0, 1]))

    assert pooled.embeddings.item() == 3


def test_a_camera_common_to_each_template_is_kept():
    one = items([1, 2, 3], ["s", "s", "t"], cameras=["1", "1", "2"])
    several = items([1, 2, 3], ["s", "s", "t"], cameras=["1", "2", "2"])

    assert pool_templates(one).cameras.tolist() == ["1", "2"]
    assert pool_templates(several).cameras is None


def test_measuring_pools_first(make_protocol):
    queries = items([1, 3, 8], ["s", "s", "t"], labels=["x", "x", "y"])
    gallery = items([2, 9], ["u", "v"], labels=["x", "y"])
    result = measure(
        make_protocol("retrieval/CMC@1", distance="l2", exclude=()), queries, gallery
    )

    assert result.counts["queries"] == 2
    assert result.values == {"retrieval/CMC@1": 1}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"templates": None}, "should have templates"),
        (
            {"templates": ["s", "s"], "labels": ["x", "y"]},
            "template 's' with 'x' and 'y'",
        ),
        ({"templates": ["s", "t"], "qualities": [1, 0]}, "all be zero.*'t'"),
    ],
)
def test_what_is_no_template_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        pool_templates(items([1, 2], **columns))

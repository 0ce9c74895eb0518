"""A protocol's pictures mean the same to evaluation, to the registry and to training.

What one of them refuses, all do, in the same words: none measures something else.
"""

import io

import numpy as np
import pytest
import yaml
from PIL import Image

from keras_bct.cli.sides import load_side
from keras_bct.data import ImageRecords, write_records
from keras_bct.evaluation import EmbeddingSet, Protocol
from keras_bct.training.criterion import Criterion
from keras_bct.training.settings import CriterionSettings
from registry.errors import RegistryError
from registry.evidence.protocol_data import ProtocolData

SHAPE = (8, 8, 3)


class Brightness:
    """An old model: a picture's mean red and green."""

    embedding_size = 2

    def embed_bytes(self, images, ids):
        pixels = [np.asarray(Image.open(io.BytesIO(image))) for image in images]
        return np.array([p.mean(axis=(0, 1))[:2] + 1 for p in pixels], np.float32)


def png(red, green):
    stream = io.BytesIO()
    Image.new("RGB", SHAPE[:2], (red, green, 0)).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A protocol whose gallery has templates of two pictures; its queries have none."""
    monkeypatch.setattr("keras_bct.models.load_embedder", lambda _: Brightness())
    for side, templates in (("queries", None), ("gallery", ["s", "s", "t", "t"])):
        write_records(
            tmp_path / f"{side}.tfrecord",
            ImageRecords(
                np.array([f"{side} {i}" for i in range(4)]),
                [png(200, 10), png(100, 0), png(10, 200), png(0, 100)],
                np.array(list("xxyy")),
                templates=None if templates is None else np.array(templates),
            ),
        )
    (tmp_path / "model").mkdir()
    return tmp_path


def write_protocol(
    place, queries=None, gallery=None, metrics=("retrieval/mAP",), exclude=("self",)
):
    sides = {
        name: {"source": "tfrecord", "path": f"{name}.tfrecord", **(change or {})}
        for name, change in (("queries", queries), ("gallery", gallery))
    }
    path = place / "protocol.yaml"
    path.write_text(
        yaml.safe_dump(
            {"name": "p", "metrics": [*metrics], "exclude": [*exclude], **sides}
        )
    )
    return str(path)


def by_command_line(place, path):
    protocol = Protocol.from_yaml(path)
    return [
        load_side(protocol, side, str(place / "model"))
        for side in ("queries", "gallery")
    ]


def by_registry(place, path):
    from registry.evidence.measuring import _embed

    data = ProtocolData(Protocol.from_yaml(path), None)
    data.check_sides()
    return _embed(place / "model", data.query_pictures(), data.gallery_pictures())


def by_training(place, path):
    criterion = Criterion(CriterionSettings(path), str(place / "model"), SHAPE, 2)
    return criterion._queries, criterion._gallery


USERS = [by_command_line, by_registry, by_training]


@pytest.mark.parametrize("user", USERS)
def test_every_user_reads_the_same(place, user):
    path = write_protocol(place, gallery={"template": "template"})

    queries, gallery = user(place, path)

    assert isinstance(gallery, EmbeddingSet)
    assert queries.templates is None and queries.cameras is None
    assert gallery.templates.tolist() == ["s", "s", "t", "t"]
    assert gallery.ids.tolist() == [f"gallery {i}" for i in range(4)]
    assert gallery.embeddings.tolist() == [[201, 11], [101, 1], [11, 201], [1, 101]]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": {"quality": "sharpness"}}, "should name no `quality`"),
        ({"gallery": {"quality": "sharpness"}}, "should name no `quality`"),
        ({"queries": {"template": "template"}}, "names `template: template`, which no"),
        ({"queries": {"medium": "video"}}, "names `medium: video`, which no record"),
        ({"gallery": {"camera": "lens"}}, "names `camera: lens`, which no record"),
        ({"gallery": {"path": "nothing*"}}, "No file matches"),
        ({"queries": {"source": "embeddings"}}, "should be pictures"),
        ({"exclude": ["same_camera"]}, "should name its `camera`, since it excludes"),
    ],
)
def test_every_user_refuses_the_same_in_the_same_words(place, user, change, message):
    path = write_protocol(place, **change)

    with pytest.raises((ValueError, OSError, RegistryError), match=message):
        user(place, path)


class TestCriterion:
    def test_without_a_gate_takes_the_metric_that_the_gate_would(self, place):
        path = write_protocol(place, metrics=["verification/EER", "retrieval/CMC@1"])

        criterion = Criterion(CriterionSettings(path), str(place / "model"), SHAPE, 2)

        assert criterion.metric == "retrieval/CMC@1"
        assert criterion.old_old == 1.0

    @pytest.mark.parametrize("metric", ["verification/EER", "retrieval/nDCG"])
    def test_what_does_not_rise_or_is_not_measured_is_refused(self, place, metric):
        path = write_protocol(place, metrics=["verification/EER", "retrieval/CMC@1"])
        settings = CriterionSettings(path, metric=metric)

        with pytest.raises(ValueError, match=r"`criterion\.metric` should be one of r"):
            Criterion(settings, str(place / "model"), SHAPE, 2)

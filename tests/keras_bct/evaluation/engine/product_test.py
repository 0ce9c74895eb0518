"""TensorFlow's product stands in for the GPU's: it rounds otherwise than NumPy's."""

import threading

import numpy as np
import pytest

from keras_bct.evaluation import Execution, measure
from keras_bct.evaluation.engine import product


@pytest.fixture(scope="module")
def tensorflow():
    return pytest.importorskip("tensorflow")


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
def test_the_library_that_multiplies_changes_nothing(
    tensorflow, make_protocol, make_people, monkeypatch, distance
):
    queries, gallery = make_people()
    protocol = make_protocol(
        "retrieval/mAP",
        "verification/TAR@FAR=0.01",
        "identification/TPIR@FPIR=0.1",
        distance=distance,
    )
    expected = measure(protocol, queries, gallery).values
    devices = []

    def multiply(device, scoring):
        devices.append(device)
        return product.tensorflow_product(scoring, "/CPU:0")

    monkeypatch.setattr(product, "product_on", multiply)
    got = measure(protocol, queries, gallery, execution=Execution(device="gpu")).values

    assert got == expected
    assert devices == ["gpu"]


def test_threads_share_one_copy_of_the_gallery(make_set, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    from keras_bct.evaluation.engine.scoring import Scoring

    items = make_set("i", ["x"] * 400, np.random.default_rng(0).normal(size=(400, 8)))
    made = []
    make = Scoring.right_operand
    monkeypatch.setattr(
        Scoring, "right_operand", lambda self, at: made.append(at) or make(self, at)
    )
    scoring = Scoring.of("cosine", items, items)
    multiply = product.product_on("cpu", scoring)
    left = scoring.left_operand(slice(None))
    tiles = [slice(i, i + 50) for i in range(0, 400, 50)]
    out = [np.empty((400, 50), np.float32) for _ in tiles]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: multiply(left, tiles[i], out[i]), range(8)))

    assert made == [slice(None)]
    unit = items.embeddings.astype(float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    np.testing.assert_allclose(np.hstack(out), unit @ unit.T, atol=1e-6)


def test_threads_share_each_tile_on_a_device(tensorflow, make_set, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    from keras_bct.evaluation.engine.scoring import Scoring

    items = make_set("i", ["x"] * 40, np.random.default_rng(0).normal(size=(40, 8)))
    scoring = Scoring.of("l2", items, items)
    multiply = product.tensorflow_product(scoring, "/CPU:0")
    left = scoring.left_operand(slice(None))
    everyone_asks = threading.Barrier(4)
    made = []
    make = Scoring.right_operand

    def slow(self, columns):
        made.append(columns)
        return make(self, columns)

    monkeypatch.setattr(Scoring, "right_operand", slow)

    def ask(_):
        out = np.empty((40, 40), np.float32)
        everyone_asks.wait(10)
        multiply(left, slice(0, 40), out)
        return out

    with ThreadPoolExecutor(4) as pool:
        products = list(pool.map(ask, range(4)))

    assert made == [slice(0, 40)]
    assert all((one == products[0]).all() for one in products)


def test_a_gpu_where_there_is_none(tensorflow, make_protocol, make_people):
    if tensorflow.config.list_physical_devices("GPU"):
        pytest.skip("there is one")
    with pytest.raises(RuntimeError, match="'gpu'"):
        measure(
            make_protocol("retrieval/mAP"),
            *make_people(),
            execution=Execution(device="gpu"),
        )


def test_the_product_stays_within_its_tolerance(make_set):
    from keras_bct.evaluation.engine.scoring import Scoring

    generator = np.random.default_rng(0)
    for distance in ("cosine", "l2", "inner_product"):
        # Every component of one sign: partial sums as large as they can be.
        rows = generator.uniform(0.5, 1, size=(200, 700)) * 3
        items = make_set("i", ["x"] * 200, rows)
        scoring = Scoring.of(distance, items, items)
        computed = np.empty((200, 200), np.float32)
        multiply = product.product_on("cpu", scoring)
        multiply(scoring.left_operand(slice(None)), slice(0, 200), computed)
        row, column = np.indices((200, 200)).reshape(2, -1)
        exact = scoring.to_product(scoring.exact(row, column), row).reshape(200, 200)

        assert (abs(computed - exact) <= scoring.tolerance[:, None]).all()

"""TensorFlow's product stands in for the GPU's: it rounds otherwise than NumPy's."""

import numpy as np
import pytest

from keras_bct.evaluation import Execution, measure, product


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
    from keras_bct.evaluation.scoring import Scoring

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

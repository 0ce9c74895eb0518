import keras
import numpy as np
import pytest

from keras_bct.layers import ResidualAlignment

OLD, SIDE, NEW, HIDDEN = 3, 2, 4, 5
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6, OLD)).astype(np.float32)
EXTRA = RNG.normal(size=(6, SIDE)).astype(np.float32)
MATRIX, OFFSET = RNG.normal(size=(OLD + SIDE, NEW)), RNG.normal(size=NEW)


def layer(side=True, **options):
    matrix = MATRIX if side else MATRIX[:OLD]
    return ResidualAlignment(matrix, OFFSET, hidden_size=HIDDEN, seed=0, **options)


def taught(made):
    """With a network that no longer adds zero."""
    made.build((None, OLD), (None, SIDE))
    made.outer.set_weights([np.random.default_rng(1).normal(size=(HIDDEN, NEW))])
    return made


def test_begins_at_the_closed_form():
    found = layer(side=False)(ROWS)
    np.testing.assert_allclose(found, ROWS @ MATRIX[:OLD] + OFFSET, atol=1e-6)


def test_adds_what_the_network_says_of_embedding_and_side_information():
    made = taught(layer())
    rows = np.concatenate([ROWS, EXTRA], axis=1).astype(np.float64)
    kernel, bias = (np.asarray(w, np.float64) for w in made.inner.get_weights())
    hidden = np.maximum(rows @ kernel + bias, 0)
    wanted = rows @ MATRIX + OFFSET + hidden @ made.outer.get_weights()[0]
    np.testing.assert_allclose(made(ROWS, EXTRA), wanted, atol=1e-5)


def test_closed_form_does_not_train():
    made = taught(layer())
    assert {w.path.split("/")[-1] for w in made.trainable_weights} == {"kernel", "bias"}
    assert {w.name for w in made.non_trainable_weights} >= {"matrix", "offset"}


def test_dropout_is_for_training_alone():
    made = taught(layer(dropout=0.5))
    np.testing.assert_array_equal(made(ROWS, EXTRA), made(ROWS, EXTRA))
    changed = made(ROWS, EXTRA, training=True)
    assert not np.allclose(changed, made(ROWS, EXTRA))


def test_comes_back_from_a_keras_file(tmp_path):
    made = taught(layer(dropout=0.2, kernel_regularizer=keras.regularizers.L2(0.1)))
    inputs = [keras.Input((OLD,)), keras.Input((SIDE,))]
    model = keras.Model(inputs, made(*inputs))
    model.save(tmp_path / "map.keras")
    loaded = keras.models.load_model(tmp_path / "map.keras")
    np.testing.assert_array_equal(loaded([ROWS, EXTRA]), model([ROWS, EXTRA]))
    assert loaded.layers[-1].get_config() == made.get_config()


def test_config_alone_gives_no_numbers():
    made = ResidualAlignment.from_config(layer(side=False).get_config())
    assert np.isnan(made(ROWS)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matrix": np.eye(3), "offset": np.zeros(2)}, r"`matrix` should.*\(3, 3\)"),
        ({}, "`matrix` and `offset` should be given"),
        ({"matrix": np.eye(3)}, "`matrix` and `offset`.*together.*matrix alone"),
        ({"offset": np.ones(3), "embedding_size": 3}, "together.*offset alone"),
        ({"matrix": np.full((3, 3), np.nan), "offset": np.zeros(3)}, "be finite"),
        (
            {"matrix": np.eye(3), "offset": np.zeros(3), "hidden_size": 0},
            "hidden_size=0",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ResidualAlignment(**arguments)


def test_closed_form_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"each of the 3 components.*\(5, 4\)"):
        layer()(ROWS)

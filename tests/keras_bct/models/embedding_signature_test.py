"""Which parts of a SavedModel embed pictures: small models of every kind met so far."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bct.embedding_parts import PARTS_FILE, EmbeddingParts
from keras_bct.models import load_embedder

PICTURES = tf.TensorSpec([None, 4, 4, 1], tf.float32, name="pixels")
ANY_RANK = tf.TensorSpec(None, tf.float32, name="pixels")
ONE_PICTURE = tf.TensorSpec([1, 4, 4, 1], tf.float32, name="pixels")
CHANNELS_FIRST = tf.TensorSpec([None, 3, 8, 8], tf.float32, name="pixels")
TEXT = tf.TensorSpec([None], tf.string, name="text")
ROWS = tf.TensorSpec([None, 16], tf.float32, name="rows")


def vectors(size, dtype=tf.float32, scale=1.0):
    """A model part: pixels to their first `size` components times a number."""

    def embed(pixels):
        flat = tf.reshape(pixels, [tf.shape(pixels)[0], 16])
        return tf.cast(flat[:, :size] * scale, dtype)

    return embed


def flat(pixels):
    """The first eight pixels, whatever the pictures' size."""
    return tf.reshape(pixels, [tf.shape(pixels)[0], -1])[:, :8]


def of_unknown_rank(pixels):
    return tf.py_function(vectors(8), [pixels], tf.float32)


def of_unknown_width(pixels):
    flat = vectors(8)(pixels)
    return tf.ensure_shape(
        tf.py_function(lambda x: x, [flat], tf.float32), [None, None]
    )


def labels(pixels):
    return tf.cast(vectors(8)(pixels), tf.int64)


def feature_map(pixels):
    return tf.identity(pixels)


def one_vector(pixels):
    return tf.reduce_sum(vectors(8)(pixels), axis=0)


def not_finite(pixels):
    return vectors(8)(pixels) / 0.0


def only_one_picture(pixels):
    with tf.control_dependencies([tf.debugging.assert_less(tf.shape(pixels)[0], 2)]):
        return vectors(8)(pixels)


@pytest.fixture
def save(tmp_path):
    """Writes a SavedModel: for each signature its inputs and what it gives of them."""

    def save(**signatures):
        module = tf.Module()
        made = {}
        for name, (inputs, gives) in signatures.items():

            def run(*given, gives=gives):
                return {key: part(*given) for key, part in gives.items()}

            specs = inputs if isinstance(inputs, tuple) else (inputs,)
            names = ", ".join(spec.name for spec in specs)
            scope = {"run": run}
            exec(f"def call({names}): return run({names})", scope)
            function = tf.function(scope["call"], input_signature=specs)
            setattr(module, name, function)
            made[name] = function
        tf.saved_model.save(module, str(tmp_path), signatures=made)
        return tmp_path

    return save


EMBEDDING = {"embedding": vectors(8)}
PROBABILITIES = {"probs": vectors(4, scale=0.01)}


@pytest.mark.parametrize(
    ("signatures", "parts"),
    [
        (
            {
                "features": (PICTURES, EMBEDDING),
                "serving_default": (PICTURES, PROBABILITIES),
            },
            ("features", "pixels", "embedding"),
        ),
        (
            {
                "serving_default": (PICTURES, {**PROBABILITIES, **EMBEDDING}),
            },
            ("serving_default", "pixels", "embedding"),
        ),
        (
            {
                "serving_default": (
                    PICTURES,
                    {"embeddings": vectors(8), "class": labels},
                )
            },
            ("serving_default", "pixels", "embeddings"),
        ),
        ({"default": (PICTURES, EMBEDDING)}, ("default", "pixels", "embedding")),
        ({"default": (PICTURES, {"x": vectors(8)})}, ("default", "pixels", "x")),
        (
            {
                "serve": (PICTURES, {"dense": vectors(8)}),
                "serving_default": (PICTURES, {"dense": vectors(8)}),
            },
            ("serve", "pixels", "dense"),
        ),
        (
            {
                "other": (TEXT, {"embedding": lambda text: tf.zeros([1, 4])}),
                "serve": (PICTURES, {"dense": vectors(8)}),
            },
            ("serve", "pixels", "dense"),
        ),
        (
            {"serve": (PICTURES, {"embedding": of_unknown_rank})},
            ("serve", "pixels", "embedding"),
        ),
        (
            {"serve": (PICTURES, {"embedding": of_unknown_width})},
            ("serve", "pixels", "embedding"),
        ),
        *(
            (
                {"serve": (PICTURES, {"embedding": vectors(8, dtype)})},
                ("serve", "pixels", "embedding"),
            )
            for dtype in (tf.float16, tf.bfloat16, tf.float64)
        ),
    ],
    ids=[
        "an embedding beside probabilities of another signature",
        "an embedding beside probabilities of the same signature",
        "embeddings beside other outputs",
        "only a signature called default",
        "the only output of a signature called default",
        "serve before serving_default",
        "a signature for text is passed over",
        "an output of unknown rank",
        "an output of unknown width",
        "float16",
        "bfloat16",
        "float64",
    ],
)
def test_the_embedding_is_found_and_measured(save, signatures, parts):
    embedder = load_embedder(save(**signatures))
    embedder.check()
    assert embedder.parts == EmbeddingParts(*parts)
    assert embedder.embedding_size == 8
    pictures = np.arange(32, dtype=np.float32).reshape(2, 4, 4, 1)
    given = embedder.embed(pictures)
    assert given.dtype == np.float32
    np.testing.assert_array_equal(given, [np.arange(8), np.arange(16, 24)])


@pytest.mark.parametrize(
    ("signatures", "said"),
    [
        ({"serve": (TEXT, {"embedding": lambda t: tf.zeros([1, 4])})}, "not pictures"),
        ({"serve": (ROWS, {"embedding": vectors(8)})}, "not pictures"),
        ({"serve": (ANY_RANK, EMBEDDING)}, "not pictures"),
        ({"serve": (ONE_PICTURE, EMBEDDING)}, "any batch"),
        ({"serve": (CHANNELS_FIRST, {"embedding": flat})}, "channels"),
        (
            {"serve": ((PICTURES, TEXT), {"embedding": lambda p, t: vectors(8)(p)})},
            "not pictures",
        ),
        ({"serve": (PICTURES, {"embedding": labels})}, "no one is the embedding"),
        ({"serve": (PICTURES, {"x": feature_map})}, "no one is the embedding"),
        (
            {"serve": (PICTURES, {"a": vectors(8), "b": vectors(8)})},
            "no one is the embedding",
        ),
        (
            {"a": (PICTURES, {"x": vectors(8)}), "b": (PICTURES, {"x": vectors(8)})},
            "'a' and 'b', of which it is not clear",
        ),
    ],
    ids=[
        "takes text",
        "takes rows",
        "takes anything",
        "takes one picture at a time",
        "takes the channels first",
        "takes a picture and a text",
        "gives integers",
        "gives feature maps",
        "gives two vectors",
        "two signatures that fit",
    ],
)
def test_what_cannot_be_told_apart_is_refused_with_a_way_out(save, signatures, said):
    with pytest.raises(ValueError, match=rf"{said}.*--signature, --input and --output"):
        load_embedder(save(**signatures))


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (not_finite, "finite"),
        (one_vector, r"should give embeddings of shape|by 'serve'"),
        (only_one_picture, "Condition x < y"),
    ],
    ids=["not finite", "one vector for all", "a batch of one"],
)
def test_a_model_that_fails_at_a_picture_is_found_out(save, gives, said):
    def unknown(pixels):
        return tf.py_function(gives, [pixels], tf.float32)

    with pytest.raises(ValueError, match=said):
        load_embedder(save(serve=(PICTURES, {"embedding": unknown}))).check()


def test_a_model_that_is_not_at_rest_is_found_out(save):
    def noisy(pixels):
        return vectors(8)(pixels) + 99 * tf.random.normal([8])

    with pytest.raises(ValueError, match="another one the second time"):
        load_embedder(save(serve=(PICTURES, {"embedding": noisy}))).check()


class TestNamedParts:
    def test_choose_among_signatures_and_outputs(self, save):
        directory = save(
            serving_default=(PICTURES, {"embedding": vectors(8), "small": vectors(3)}),
            other=(PICTURES, {"small": vectors(2, scale=5.0)}),
        )
        assert load_embedder(directory, output="small").embedding_size == 3
        by_other = load_embedder(directory, signature="other")
        assert by_other.parts == EmbeddingParts("other", "pixels", "small")

    def test_an_input_of_unknown_rank_is_taken_when_it_is_named(self, save):
        embedder = load_embedder(
            save(serve=(ANY_RANK, {"embedding": flat})), input="pixels"
        )
        embedder.check()
        assert embedder.image_shape == (None, None, None)
        assert embedder.embedding_size == 8

    def test_another_input_is_filled_where_it_does_not_matter(self, save):
        directory = save(
            serve=((PICTURES, TEXT), {"embedding": lambda p, t: vectors(8)(p)})
        )
        embedder = load_embedder(directory, input="pixels")
        embedder.check()
        given = embedder.embed(np.ones((3, 4, 4, 1)))
        np.testing.assert_array_equal(given, np.ones((3, 8)))

    def test_another_input_that_matters_is_found_out(self, save):
        def both(pixels, rows):
            return vectors(8)(pixels) + 1000 * rows[:, :8]

        directory = save(serve=((PICTURES, ROWS), {"embedding": both}))
        with pytest.raises(ValueError, match=r"another one with other values.*rows"):
            load_embedder(directory, input="pixels").check()

    @pytest.mark.parametrize(
        "named", [{"signature": "x"}, {"input": "x"}, {"output": "x"}], ids=str
    )
    def test_a_part_that_is_not_there_is_named(self, save, named):
        with pytest.raises(ValueError, match="'x'"):
            load_embedder(save(serve=(PICTURES, EMBEDDING)), **named)

    def test_are_read_from_the_file_beside_the_model(self, save):
        directory = save(
            serving_default=(PICTURES, EMBEDDING), other=(PICTURES, PROBABILITIES)
        )
        parts = EmbeddingParts("other", "pixels", "probs")
        path = directory / PARTS_FILE
        path.parent.mkdir()
        path.write_text(parts.to_json())
        assert load_embedder(directory).parts == parts
        path.write_text('{"signatur": "other"}')
        with pytest.raises(ValueError, match=r"embedding\.json.*`signature`"):
            load_embedder(directory)


def test_bytes_that_are_embedded_otherwise_than_pixels_are_found_out(save):
    def constant(image_bytes):
        return tf.ones([tf.shape(image_bytes)[0], 8])

    directory = save(
        embed=(PICTURES, EMBEDDING),
        embed_bytes=(
            tf.TensorSpec([None], tf.string, name="image_bytes"),
            {"embedding": constant},
        ),
    )
    with pytest.raises(ValueError, match="another one by `embed_bytes`"):
        load_embedder(directory).check()

import pytest

from registry.errors import InvalidModelError
from registry.saved_model import embedding_size, read_signatures


@pytest.fixture
def write(tmp_path):
    def write(content):
        (tmp_path / "saved_model.pb").write_bytes(content)
        return tmp_path

    return write


def real_saved_model(signatures):
    """saved_model.pb made by TensorFlow's own protocol buffers."""
    from tensorflow.core.framework import types_pb2
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    graph = model.meta_graphs.add()
    graph.graph_def.node.add(name="n" * 5000)
    for name, outputs in signatures.items():
        signature = graph.signature_def[name]
        signature.inputs["image"].dtype = types_pb2.DT_FLOAT
        for output, (dtype, shape) in outputs.items():
            tensor = signature.outputs[output]
            tensor.name = "StatefulPartitionedCall:0"
            tensor.dtype = getattr(types_pb2, dtype)
            if shape is None:
                tensor.tensor_shape.unknown_rank = True
            else:
                for size in shape:
                    tensor.tensor_shape.dim.add(size=size)
    return model.SerializeToString()


def test_the_embedding_output_is_found(write):
    folder = write(
        real_saved_model(
            {
                "serving_default": {"embedding": ("DT_FLOAT", (-1, 128))},
                "embed": {"embedding": ("DT_FLOAT", (-1, 128))},
            }
        )
    )
    assert embedding_size(folder) == 128
    assert read_signatures(folder)["embed"]["embedding"].shape == (None, 128)


def test_the_only_output_of_a_foreign_model_is_its_embedding(write):
    folder = write(
        real_saved_model({"serving_default": {"dense_1": ("DT_FLOAT", (-1, 300))}})
    )
    assert embedding_size(folder) == 300


def test_a_model_without_signature_does_not_say_its_size(write):
    folder = write(real_saved_model({"__saved_model_init_op": {}}))
    assert embedding_size(folder) is None


def test_an_unknown_width_is_not_guessed(write):
    folder = write(real_saved_model({"embed": {"embedding": ("DT_FLOAT", (-1, -1))}}))
    assert embedding_size(folder) is None


@pytest.mark.parametrize(
    "outputs",
    [
        {"classes": ("DT_STRING", (-1, 10))},
        {"a": ("DT_FLOAT", (-1, 10)), "b": ("DT_FLOAT", (-1, 10))},
        {"heatmap": ("DT_FLOAT", (-1, 8, 8))},
        {"embedding": ("DT_INT64", (-1, 10))},
        {"embedding": ("DT_FLOAT", (-1, 8, 8))},
    ],
)
def test_a_model_without_embedding_output_is_refused(write, outputs):
    folder = write(real_saved_model({"serving_default": outputs}))
    with pytest.raises(InvalidModelError, match="no embedding output"):
        embedding_size(folder)


def test_a_folder_without_saved_model_is_refused(tmp_path):
    with pytest.raises(InvalidModelError, match=r"saved_model\.pb directly inside"):
        embedding_size(tmp_path)


def test_an_empty_file_is_refused(write):
    with pytest.raises(InvalidModelError, match="empty"):
        embedding_size(write(b""))


def test_a_file_that_was_cut_short_is_refused(write):
    whole = real_saved_model({"embed": {"embedding": ("DT_FLOAT", (-1, 8))}})
    with pytest.raises(InvalidModelError, match="cut short"):
        embedding_size(write(whole[: len(whole) // 2]))


def test_another_file_is_refused(write):
    with pytest.raises(InvalidModelError):
        embedding_size(write(b"\x89PNG\r\n\x1a\n" + b"\x00" * 100))

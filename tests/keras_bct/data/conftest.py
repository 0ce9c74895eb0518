import io
import pathlib

import numpy as np
import pytest
from PIL import Image


def encoded(colour=(128, 128, 128), size=(8, 8), format="JPEG", mode="RGB"):
    stream = io.BytesIO()
    Image.new(mode, size, colour).save(stream, format)
    return stream.getvalue()


@pytest.fixture
def lay_out(tmp_path):
    """Writes small pictures and texts below a folder; returns the folder."""

    def write(files, root=tmp_path):
        for number, (name, content) in enumerate(dict(files).items()):
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                content = encoded((number % 256, 0, 0))
            elif isinstance(content, str):
                content = content.encode()
            path.write_bytes(content)
        return pathlib.Path(root)

    return write


@pytest.fixture
def picture():
    return encoded


@pytest.fixture
def decoded():
    """Turns a picture's bytes into uint8 (height, width, channels)."""
    return lambda content: np.asarray(Image.open(io.BytesIO(content)))


@pytest.fixture
def faces():
    return np.random.default_rng(0).uniform(0, 255, (3, 12, 10, 3)).astype(np.float32)


@pytest.fixture
def changed(faces):
    """What a layer makes of pictures when each has the same draws, in -1..1."""

    def change(layer, *draws, images=faces):
        import keras

        rows = np.repeat(np.array(draws, np.float32)[:, None], len(images), axis=1)
        images = keras.ops.convert_to_tensor(images)
        return keras.ops.convert_to_numpy(layer.change(images, rows))

    return change

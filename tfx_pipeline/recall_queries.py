"""Pictures that an index's recall is measured with."""

import numpy as np
import numpy.typing as npt

from keras_bct.data import read_records
from keras_bct.models import load_embedder
from registry import Registry, Version


def embedded_queries(
    registry: Registry, version: Version, pattern: str
) -> npt.NDArray[np.float32] | None:
    """Queries as a version embeds them, (m, d).

    Args:
        registry: The registry.
        version: The version that will search.
        pattern: Of TFRecords; empty for none.
    """
    if not pattern:
        return None
    pictures = read_records(pattern)
    with registry.local_version(version) as directory:
        return load_embedder(directory).embed_bytes(
            pictures.images, pictures.ids.tolist()
        )

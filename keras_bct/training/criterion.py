"""The empirical criterion, M(new, old) > M(old, old), measured during the training."""

from __future__ import annotations

import dataclasses
from typing import Any

import keras

from keras_bct import data, models
from keras_bct.data.protocol_pictures import read_protocol_pictures, with_embeddings
from keras_bct.evaluation import EmbeddingSet, Execution, Protocol, measure
from keras_bct.training.inference import Inference
from keras_bct.training.settings import CriterionSettings

NEW_OLD, OLD_OLD, DIFFERENCE = "new_old", "old_old", "criterion"
"""What the logs call M(new, old), M(old, old) and their difference."""


class Criterion(keras.callbacks.Callback):
    """At every interval both sides of Eq. 2 and their difference, in the logs.

    The old embeddings of both sides are computed once.

    Args:
        settings: The protocol and its metric.
        predecessor: Directory of the old version.
        image_shape: Height, width and channels that the new model takes.
        embedding_size: Components of what is compared.

    Attributes:
        metric: The metric that is measured.
        old_old: M(old, old).

    Raises:
        FileNotFoundError: There is no such protocol, or a side matches no file.
        ValueError: A side that `read_protocol_pictures` refuses, the protocol has no
            such metric that rises, or the sizes ask for `first_components`, which it
            does not name.

    References:
        Shen et al., CVPR 2020, equation 2.
    """

    def __init__(
        self,
        settings: CriterionSettings,
        predecessor: str,
        image_shape: tuple[int, int, int],
        embedding_size: int,
    ) -> None:
        super().__init__()
        protocol = Protocol.from_yaml(settings.protocol)
        self.metric = settings.metric or protocol.gate_metrics[0]
        rising = [m.name for m in protocol.metric_names if m.higher_is_better]
        if self.metric not in rising:
            raise ValueError(
                f"`criterion.metric` should be one of {', '.join(rising)}, the metrics "
                f"of {settings.protocol} that rise as the model gets better. Received: "
                f"{self.metric!r}"
            )
        self._protocol = dataclasses.replace(
            protocol,
            metrics=(self.metric,),
            gate=dataclasses.replace(protocol.gate, metrics=(self.metric,)),
        )
        old = models.load_embedder(predecessor)
        size = protocol.first_components
        if size is None and old.embedding_size != embedding_size:
            raise ValueError(
                f"`criterion.protocol` {settings.protocol} should name "
                f"`first_components: {old.embedding_size}`: the old embedding has "
                f"{old.embedding_size} components. Received: a new one of "
                f"{embedding_size}"
            )
        queries, gallery = (
            read_protocol_pictures(protocol, side) for side in ("queries", "gallery")
        )
        self._pixels = data.decode_pictures(queries, image_shape)
        self._queries, self._gallery = (
            with_embeddings(side, old.embed_bytes(side.images, side.ids.tolist()))
            for side in (queries, gallery)
        )
        self.old_old = self._measure(self._queries)
        self._embed: Inference | None = None

    def watch(self, embed: Inference) -> None:
        """Takes the network whose criterion is measured."""
        self._embed = embed

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Adds M(new, old), M(old, old) and their difference to the logs."""
        if logs is None or self._embed is None:
            return
        embeddings = self._embed(self._pixels)
        new_old = self._measure(
            dataclasses.replace(self._queries, embeddings=embeddings)
        )
        logs |= {
            NEW_OLD: new_old,
            OLD_OLD: self.old_old,
            DIFFERENCE: new_old - self.old_old,
        }

    def _measure(self, queries: EmbeddingSet) -> float:
        measured = measure(
            self._protocol,
            queries,
            self._gallery,
            execution=Execution(progress=False),
        )
        return measured.values[self.metric]

"""What TensorBoard shows of a training."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_bct.training.course import Course
from keras_bct.training.criterion import DIFFERENCE, NEW_OLD, OLD_OLD


class Scalars(keras.callbacks.Callback):
    """Writes the logs of every interval as TensorBoard scalars, by the step.

    | scalar | what it is |
    |---|---|
    | `loss`, `loss/new`, `loss/old`, ... | the sum, and each output's own loss |
    | `old_share` | the share of samples with an old label |
    | `old_angle` | the mean angle to the old rows, degrees |
    | `learning_rate` | at the end of the interval |
    | `criterion/METRIC/new_old`, `/old_old`, `/difference` | both sides of Eq. 2 |

    Args:
        directory: Where the event files go.
        course: Tells the step.
        metric: The criterion's metric, where one is measured.
    """

    def __init__(
        self, directory: str, course: Course, metric: str | None = None
    ) -> None:
        super().__init__()
        self._directory = directory
        self._course = course
        self._metric = metric
        self._writer: Any = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes one point of each scalar."""
        if self._writer is None:
            self._writer = tf.summary.create_file_writer(self._directory)
        rate = self.model.optimizer.learning_rate
        values = {**(logs or {}), "learning_rate": float(rate)}
        step = self._course.steps_after(epoch + 1)
        with self._writer.as_default():
            for name, value in values.items():
                tf.summary.scalar(self._tag(name), value, step)
        self._writer.flush()

    def _tag(self, name: str) -> str:
        if name in (NEW_OLD, OLD_OLD, DIFFERENCE):
            side = "difference" if name == DIFFERENCE else name
            return f"criterion/{self._metric}/{side}"
        return f"loss/{name.removesuffix('_loss')}" if name.endswith("_loss") else name

"""Ends a training at its last step, where that is inside an interval."""

from __future__ import annotations

from typing import Any

import keras

from keras_bct.training.course import Course


class LastStep(keras.callbacks.Callback):
    """Ends `fit`, whose epochs are all of one length, in the middle of the last one.

    Args:
        course: Says how many steps there are.
    """

    def __init__(self, course: Course) -> None:
        super().__init__()
        self._course = course
        self._done = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Counts from the interval that begins, the first after a restart."""
        self._done = self._course.steps_after(epoch)

    def on_train_batch_end(
        self, batch: int, logs: dict[str, Any] | None = None
    ) -> None:
        """Counts a batch; the interval is ended after the last one."""
        self._done += 1
        if self._done == self._course.steps:
            self.model.stop_training = True

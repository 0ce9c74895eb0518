"""FastFill's switch: BatchNorm by the batch first, by its moving averages later."""

from __future__ import annotations

from typing import Any

import keras


class FreezeBatchStatistics(keras.callbacks.Callback):
    """Sets `alignment_map.batch_statistics` to False from an epoch on.

    BatchNorm then runs in inference mode in training, too: its moving averages stay as
    they are, while its scale and offset train on. The training step is traced anew.

    Args:
        epoch: The first epoch, counted from 0, that does without the batch.

    Example:
        >>> FreezeBatchStatistics(epoch=40).epoch
        40

    References:
        docs/methods.md, section 4: "from half of the epochs on".
    """

    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.epoch = epoch

    def on_train_begin(self, logs: Any = None) -> None:
        """Turn it back, where an earlier training has left it off."""
        self._switch(True)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Turn the switch when its epoch begins."""
        if epoch >= self.epoch:
            self._switch(False)

    def _switch(self, on: bool) -> None:
        layer = self.model.alignment_map
        if layer.batch_statistics != on:
            layer.batch_statistics = on
            # What was traced before still has the other mode in it.
            self.model.make_train_function(force=True)

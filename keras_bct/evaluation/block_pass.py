"""One pass over all pairs, in blocks that fit the cache, on every core."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.progress import progress_bar
from keras_bct.evaluation.relevance import Members, Relevance
from keras_bct.evaluation.scoring import Scoring

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

# A tile of 256 x 4096 float32 scores is 4 MiB: about the second-level cache of a core,
# and wide enough for the matrix product to run at its full speed.
BLOCK_ROWS = 256
_TILE_SCORES = 2**20


@dataclasses.dataclass(frozen=True)
class Execution:
    """How the work is done; none of it changes a result.

    Attributes:
        workers: Threads, each with its own blocks; None: one a core.
        block_rows: Queries that are scored together; None: chosen for the cache.
        device: `cpu`, `gpu` (TensorFlow multiplies, refused without one) or `auto`.
        progress: Whether a bar is shown for work of more than two seconds.

    Raises:
        ValueError: A number below 1, or an unknown device.
    """

    workers: int | None = None
    block_rows: int | None = None
    device: str = "auto"
    progress: bool = True

    def __post_init__(self) -> None:
        """Checks the numbers and the device."""
        for name in ("workers", "block_rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"`{name}` should be at least 1. Received: {value}.")
        if self.device not in ("auto", "cpu", "gpu"):
            raise ValueError(
                f"`device` should be one of auto, cpu, gpu. Received: {self.device!r}."
            )

    @property
    def threads(self) -> int:
        """How many threads work."""
        if self.workers is not None:
            return self.workers
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Some queries, with what is known of them before any product.

    Attributes:
        rows: Which queries.
        members: The gallery items of their labels.
        scores: (members,) float64, the exact scores of those pairs.
    """

    rows: slice
    members: Members
    scores: Floats


class Consumer(Protocol):
    """What takes the scores of a pass. Blocks come from several threads."""

    def open(self, block: Block) -> Any:
        """Starts a block and returns its state."""

    def take(self, state: Any, scores: Singles, columns: slice) -> None:
        """Takes a tile: products of the block's queries with some gallery items.

        Pairs of one label are minus infinity: they stand in the block.
        """

    def close(self, state: Any) -> None:
        """Ends a block."""


def run_pass(
    scoring: Scoring,
    relevance: Relevance,
    consumers: Sequence[Consumer],
    execution: Execution,
    description: str,
    queries: npt.NDArray[np.int64] | None = None,
) -> None:
    """Gives every pair's score to the consumers, a tile at a time.

    Never are more than a tile's scores a thread held. After an error or an interrupt
    the threads end with the tile that they are at.

    Args:
        scoring: Scores the pairs.
        relevance: Tells which pairs are of one label.
        consumers: What takes the scores.
        execution: How the work is done.
        description: For the progress bar.
        queries: (k,) int64: only these blocks of `block_rows` queries; None: all.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from keras_bct.evaluation import kernels
    from keras_bct.evaluation.product import product_on

    block_rows = min(execution.block_rows or BLOCK_ROWS, len(scoring.left))
    width = max(1, min(len(scoring.right), _TILE_SCORES // block_rows))
    starts = list(range(0, len(scoring.left), block_rows))
    if queries is not None:
        starts = [starts[i] for i in queries]
    multiply = product_on(execution.device, scoring)
    stop = threading.Event()
    todo = iter(starts)
    lock = threading.Lock()

    def work(bar: Any) -> None:
        buffer = np.empty(block_rows * width, np.float32)
        while not stop.is_set():
            with lock:
                start = next(todo, None)
            if start is None:
                return
            rows = slice(start, min(start + block_rows, len(scoring.left)))
            members = relevance.members(rows)
            exact = scoring.exact(members.rows + start, members.columns)
            block = Block(rows, members, exact)
            states = [consumer.open(block) for consumer in consumers]
            left = scoring.left_operand(rows)
            for first in range(0, len(scoring.right), width):
                if stop.is_set():
                    return
                columns = slice(first, min(first + width, len(scoring.right)))
                shape = (len(left), columns.stop - first)
                scores = buffer[: shape[0] * shape[1]].reshape(shape)
                multiply(left, columns, scores)
                kernels.mask(scores, members.offsets, members.columns, first)
                for consumer, state in zip(consumers, states, strict=True):
                    consumer.take(state, scores, columns)
            for consumer, state in zip(consumers, states, strict=True):
                consumer.close(state)
            with lock:
                bar.update(len(left))

    total = len(starts) * block_rows
    with (
        progress_bar(total, description, "query", execution.progress) as bar,
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(execution.threads) as pool,
    ):
        futures = [pool.submit(work, bar) for _ in range(execution.threads)]
        try:
            for future in futures:
                future.result()
        finally:
            stop.set()

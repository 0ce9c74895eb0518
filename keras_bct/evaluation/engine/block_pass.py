"""One pass over all pairs, in blocks that fit the cache, on every core."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.relevance import Members, Relevance
from keras_bct.progress import progress_bar

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
) -> None:
    """Gives every pair's score to the consumers, a tile at a time.

    Never are more than a tile's scores a thread held.

    Args:
        scoring: Scores the pairs.
        relevance: Tells which pairs are of one label.
        consumers: What takes the scores.
        execution: How the work is done.
        description: For the progress bar.
    """
    from keras_bct.evaluation.engine.kernels.tile import mask
    from keras_bct.evaluation.engine.product import product_on

    block_rows = min(execution.block_rows or BLOCK_ROWS, len(scoring.left))
    width = tile_width(block_rows, len(scoring.right))
    multiply = product_on(execution.device, scoring)
    local = threading.local()

    def work(rows: slice, stop: threading.Event) -> None:
        if not hasattr(local, "buffer"):
            local.buffer = np.empty(block_rows * width, np.float32)
        members = relevance.members(rows)
        exact = scoring.exact(members.rows + rows.start, members.columns)
        block = Block(rows, members, exact)
        states = [consumer.open(block) for consumer in consumers]
        left = scoring.left_operand(rows)
        for columns in slices(len(scoring.right), width):
            if stop.is_set():
                return
            shape = (len(left), columns.stop - columns.start)
            scores = local.buffer[: shape[0] * shape[1]].reshape(shape)
            multiply(left, columns, scores)
            mask(scores, members.offsets, members.columns, columns.start)
            for consumer, state in zip(consumers, states, strict=True):
                consumer.take(state, scores, columns)
        for consumer, state in zip(consumers, states, strict=True):
            consumer.close(state)

    run_blocks(len(scoring.left), block_rows, work, execution, description)


def run_blocks(
    queries: int,
    block_rows: int,
    work: Callable[[slice, threading.Event], None],
    execution: Execution,
    description: str,
) -> None:
    """Works on blocks of queries with a thread a core, each with a BLAS of one thread.

    After an error or an interrupt no further block is begun, and those that are being
    worked on are told to stop.

    Args:
        queries: How many there are.
        block_rows: How many make a block.
        work: Takes a block's rows, and an event that is set when it should stop.
        execution: How the work is done.
        description: For the progress bar.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    stop = threading.Event()
    todo = iter(slices(queries, block_rows))
    lock = threading.Lock()

    def work_on(bar: Any) -> None:
        while not stop.is_set():
            with lock:
                rows = next(todo, None)
            if rows is None:
                return
            work(rows, stop)
            with lock:
                bar.update(rows.stop - rows.start)

    with (
        progress_bar(queries, description, "query", execution.progress) as bar,
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(execution.threads) as pool,
    ):
        futures = [pool.submit(work_on, bar) for _ in range(execution.threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
        for future in futures:
            future.result()


def slices(total: int, size: int) -> list[slice]:
    """Cuts a range into slices.

    Example:
        >>> slices(5, 2)
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(i, min(i + size, total)) for i in range(0, total, size)]


def tile_width(block_rows: int, items: int) -> int:
    """How many gallery items make a tile with so many queries."""
    return max(1, min(items, _TILE_SCORES // block_rows))

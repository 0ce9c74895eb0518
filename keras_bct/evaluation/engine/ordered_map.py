"""A map over threads that keeps the order and never runs far ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Yields `function(item)` in the order of the items.

    Unlike `Executor.map` it takes an item only when a thread is about to be free, so
    that a generator of large items does not fill the memory; leaving the loop early
    starts no further item.

    Args:
        function: Should release the interpreter's lock, as compiled kernels do.
        items: What to call it on.
        threads: How many calls run at a time.

    Example:
        >>> list(ordered_map(abs, [-1, 2, -3], threads=2))
        [1, 2, 3]
    """
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[Result]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

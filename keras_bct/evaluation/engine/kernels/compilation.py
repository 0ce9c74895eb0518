"""How the inner loops are compiled.

Every one releases the interpreter's lock, so that one thread a core can run it, and is
compiled once a machine. The cache looks at a kernel's own file alone: after a change
of `threshold_grid` or `engine.moves` the files that use it have to be touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy.typing as npt

Array = npt.NDArray[Any]


def kept_on_disk(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit` with a cache; without one where no folder can be written.

    So it is in a container with a read-only installation and nobody's home.
    """

    def compile_function(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            return numba.njit(nogil=True, **options)(function)

    return compile_function


compiled = kept_on_disk(error_model="numpy")
"""With NumPy's error model: what is divided by zero is NaN, as for a replicate without
any genuine pair."""

reordered = kept_on_disk(fastmath={"reassoc", "contract"})
"""Sums may be reordered, which lets them use vector registers."""

written_out = numba.njit(inline="always", error_model="numpy")
"""Taken into the loops that call it: a call would cost them a tenth of their time."""

"""How the inner loops are compiled.

Every one releases the interpreter's lock, so that one thread a core can run it, and is
compiled once a machine. The cache looks at a kernel's own file alone: after a change
of `threshold_grid` the files that use it have to be touched.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy.typing as npt

Array = npt.NDArray[Any]

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")
"""With NumPy's error model: what is divided by zero is NaN, as for a replicate without
any genuine pair."""

reordered = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
"""Sums may be reordered, which lets them use vector registers."""

written_out = numba.njit(inline="always", error_model="numpy")
"""Taken into the loops that call it: a call would cost them a tenth of their time."""

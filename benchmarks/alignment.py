"""How fast maps between embedding spaces are, as ratios within one run.

    python -m benchmarks.alignment [--json FILE] [--quick] [--only WORD] [--clock cpu]

The bare side is the matrix products that a piece of work is made of and nothing else,
in blocks, with NumPy's BLAS on all cores, in float32. Both sides take their turns and
the best of each counts, so that a busy machine disturbs both alike. Embeddings have 128
components on either side; the network is the paper's h with psi.

`training` measures some steps and extrapolates to 80 epochs of 100,000 pairs, as it
prints: a step costs the same from the first to the last.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import (
    Figure,
    Parts,
    Runner,
    command_line,
    peak_above,
    print_figures,
)
from keras_bct import adapters

Singles = NDArray[np.float32]

COMPONENTS, HIDDEN = 128, 2048
PAIRS, EPOCHS, BATCH = 100_000, 80, 1024
SIDES = {"old_fingerprint": "old", "new_fingerprint": "new"}
_BLOCK = 4096
_STREAMED = 10_000_000
_MIB = 2**20


def rows(count: int, seed: int) -> Singles:
    """Embeddings at random, with a mean."""
    random = np.random.default_rng(seed)
    return random.standard_normal((count, COMPONENTS), dtype=np.float32) + np.float32(1)


def layer_sizes() -> list[tuple[int, int]]:
    """The kernels of h, without side information, and of psi."""
    d = COMPONENTS
    branch = [(d, 2 * d), (2 * d, 2 * d)]
    last = [(4 * d, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, d), (d, 1)]
    return [*branch, *branch, *last]


def kernels() -> list[Singles]:
    """The kernels as arrays."""
    random = np.random.default_rng(0)
    return [random.standard_normal(size, dtype=np.float32) for size in layer_sizes()]


def forward_products(count: int) -> Callable[[], None]:
    """The products that map so many rows."""
    weights = kernels()
    taken = [np.ones((_BLOCK, len(kernel)), np.float32) for kernel in weights]
    given = [np.empty((_BLOCK, kernel.shape[1]), np.float32) for kernel in weights]

    def run() -> None:
        for start in range(0, count, _BLOCK):
            size = min(_BLOCK, count - start)
            for left, kernel, out in zip(taken, weights, given, strict=True):
                np.matmul(left[:size], kernel, out=out[:size])

    return run


def training_products(steps: int) -> Callable[[], None]:
    """The products of so many steps: forward, and both gradients of each kernel."""
    weights = kernels()
    taken = [np.ones((BATCH, len(kernel)), np.float32) for kernel in weights]
    given = [np.ones((BATCH, kernel.shape[1]), np.float32) for kernel in weights]

    def run() -> None:
        for _ in range(steps):
            for left, kernel, out in zip(taken, weights, given, strict=True):
                np.matmul(left, kernel)
                np.matmul(left.T, out)
                np.matmul(out, kernel.T)

    return run


def alignment_model() -> Any:
    """The paper's network, untrained."""
    from keras_bct import layers, models

    model = models.AlignmentModel(
        layers.AlignmentMap(COMPONENTS, hidden_size=HIDDEN, seed=0),
        layers.UncertaintyHead(),
    )
    model({"old_embedding": rows(2, 0)})
    return model


def transform(run: Runner, size: int) -> list[Figure]:
    """Mapping by the network, as a stored adapter does it."""
    from keras_bct.alignment import export_alignment

    old = rows(size, 1)
    with tempfile.TemporaryDirectory() as directory:
        adapter = export_alignment(directory, alignment_model(), pairs=0, **SIDES)
        adapter.transform(old[: 2 * _BLOCK])
        ours, bare = run.best(
            lambda: adapter.transform_with_variance(old), forward_products(size)
        )
    name = f"{size:,} rows through h and psi / bare products"
    return [Figure(name, ours / bare, 1.5)]


def fits(run: Runner, size: int) -> list[Figure]:
    """Procrustes and ridge beside the products that they are made of."""
    old, new = rows(size, 1), rows(size, 2)
    new += old

    def products(*pairs: tuple[Singles, Singles]) -> Callable[[], None]:
        def work() -> None:
            for start in range(0, size, _BLOCK):
                block = slice(start, start + _BLOCK)
                for left, right in pairs:
                    left[block].T @ right[block]

        return work

    procrustes, crossed, ridge, both = run.best(
        lambda: adapters.Procrustes().fit(old, new, **SIDES),
        products((old, new)),
        lambda: adapters.Ridge().fit(old, new, **SIDES),
        products((old, new), (old, old)),
    )
    return [
        Figure(f"Procrustes, {size:,} pairs / X'Y", procrustes / crossed, 1.5),
        Figure(f"Ridge, {size:,} pairs / X'Y and X'X", ridge / both, 1.5),
    ]


def training(run: Runner, steps: int) -> list[Figure]:
    """Training of h on stored pairs beside the products of both directions."""
    import tensorflow as tf

    from keras_bct import losses

    model = alignment_model()
    loss = losses.FastFill(losses.Alignment(losses.FeatureAlignment("mean")))
    model.compile("adam", loss=loss, jit_compile=False)
    pairs = tf.data.Dataset.from_tensor_slices(
        ({"old_embedding": rows(PAIRS, 1)}, {"embedding": rows(PAIRS, 2)})
    )
    batches = pairs.shuffle(PAIRS, seed=0).batch(BATCH, drop_remainder=True)
    model.fit(batches.take(2), verbose=0)
    iterator = iter(batches.repeat().prefetch(2))

    def train() -> None:
        for _ in range(steps):
            logs = model.train_function(iterator)
        # A step has ended when its loss can be read.
        float(logs["loss"])

    ours, bare = run.best(train, training_products(steps))
    total = EPOCHS * (PAIRS // BATCH)
    print(
        f"{EPOCHS} epochs of {PAIRS:,} pairs are {total:,} steps: "
        f"{total * ours / steps / 60:.0f} minutes, from {steps} steps"
    )
    return [Figure("a training step of h / bare products", ours / bare, 2.5)]


def memory(run: Runner, size: int) -> list[Figure]:
    """Peaks of a streamed fit, of a mapped file above its result, and of training."""

    def peak(name: str, count: int) -> float:
        script = f"from benchmarks.alignment import print_{name}; print_{name}({count})"
        done = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        return float(done.stdout) / _MIB

    mapped, trained = size // 10, size // 100
    fit = f"peak of Ridge on {size:,} streamed pairs, MiB"
    file = f"peak of mapping {mapped:,} rows of a file, MiB"
    training = f"peak of training h on {trained:,} pairs, MiB"
    return [
        Figure(fit, peak("fit_peak", size), 64),
        Figure(file, peak("map_peak", mapped), 64),
        Figure(training, peak("training_peak", trained), 512),
    ]


def print_fit_peak(count: int) -> None:
    """Prints the bytes that a fit to a stream takes."""
    _fit_stream(4 * _BLOCK)
    print(peak_above(lambda: _fit_stream(count)))


def _fit_stream(count: int) -> adapters.OldToNew:
    block = rows(_BLOCK, 1)
    blocks = ((block, block) for _ in range(0, count, _BLOCK))
    return adapters.Ridge().fit_blocks(blocks, **SIDES)


def print_map_peak(count: int) -> None:
    """Prints the bytes that mapping a file takes above its result."""
    adapter = _fit_stream(4 * _BLOCK)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "rows.npy")
        np.save(file, rows(count, 1))
        # Pages of the file that the system may drop at any time are no peak.
        stored = np.load(file, mmap_mode="r")
        result = 4 * count * COMPONENTS
        print(peak_above(lambda: adapter.transform(stored)) - result - stored.nbytes)


def print_training_peak(count: int) -> None:
    """Prints the bytes that training takes above its pairs, weights included."""
    from keras_bct.alignment import AlignmentRecipe, fit_alignment

    recipe = AlignmentRecipe(discriminative_weight=0.0, epochs=1, warm_up_epochs=0)

    def train(old: Singles, new: Singles) -> None:
        fit_alignment(recipe, old, new)

    train(rows(BATCH, 1), rows(BATCH, 2))
    pairs = rows(count, 1), rows(count, 2)
    print(peak_above(lambda: train(*pairs)))


PARTS: Parts = {
    "transform": (transform, 1_000_000, 16_384),
    "fits": (fits, 1_000_000, 200_000),
    "training": (training, 20, 2),
    "memory": (memory, _STREAMED, 200_000),
}


def main() -> int:
    """Runs the benchmark; 1 where a figure does not keep its limit."""
    arguments = command_line(__doc__, PARTS, repeats=3).parse_args()
    return print_figures(PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())

"""How fast evaluation is, as ratios within one run.

    python -m benchmarks.evaluation [--json FILE] [--quick] [--only WORD] [--clock cpu]
    python -m benchmarks.evaluation --growth

Every figure compares two sides in turn and takes the best of each, so that a busy
machine disturbs both alike. The bare side is the matrix product alone, in blocks, with
NumPy's BLAS on all cores: nothing that scores all pairs can be faster.

On a machine where other work is running take `--clock cpu`: processor time of the whole
process. It hides that a peer uses one core only, so it is the stricter measure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.figures import (
    Figure,
    Parts,
    Runner,
    command_line,
    peak_above,
    print_figures,
    runner,
)
from keras_bct.evaluation import (
    EmbeddingSet,
    Execution,
    Protocol,
    Source,
    backfilling_curve,
    measure,
    paper_cutoffs,
)

COMPONENTS = 128
CLASSES = 1000
_BLOCK = 512
_QUIET = Execution(progress=False)
_SIDE = Source("embeddings", "unused.npz")

RETRIEVAL = ("retrieval/mAP", "retrieval/CMC@1")
ACCEPTANCE = tuple(f"verification/TAR@FAR={far}" for far in ("1e-4", "1e-3", "1e-2"))


def people(
    prefix: str,
    count: int,
    noise: float,
    seed: int,
    *,
    classes: int = CLASSES,
    components: int = COMPONENTS,
) -> EmbeddingSet:
    """Noisy points around centres: with noise 1.6 half of the neighbours are right."""
    centres = np.random.default_rng(0).normal(size=(classes, components))
    who = np.arange(count) % classes
    rows = np.random.default_rng(seed).normal(size=(count, components))
    rows = (centres[who] + noise * rows).astype(np.float32)
    ids = np.char.add(prefix, np.arange(count).astype(np.str_))
    return EmbeddingSet(ids, who.astype(np.str_), None, rows)


def protocol(*metrics: str) -> Protocol:
    """A protocol with cosine and some metrics."""
    return Protocol("benchmark", _SIDE, _SIDE, metrics)


def bare_product(queries: EmbeddingSet, gallery: EmbeddingSet) -> None:
    """The matrix product alone, in blocks."""
    left, right = queries.embeddings, gallery.embeddings
    scores = np.empty((_BLOCK, len(right)), np.float32)
    for start in range(0, len(left), _BLOCK):
        block = left[start : start + _BLOCK]
        np.matmul(block, right.T, out=scores[: len(block)])


def unit(items: EmbeddingSet) -> npt.NDArray[np.float32]:
    """The rows at length one."""
    norms = np.linalg.norm(items.embeddings, axis=1, keepdims=True)
    return np.asarray(items.embeddings / norms)


def by_scikit_learn(
    queries: EmbeddingSet, gallery: EmbeddingSet
) -> tuple[float, float]:
    """Sorts every row and calls scikit-learn's average precision per query."""
    from sklearn.metrics import average_precision_score

    left, right = unit(queries), unit(gallery)
    values, first = [], []
    for start in range(0, len(left), _BLOCK):
        scores = left[start : start + _BLOCK] @ right.T
        for i, row in enumerate(scores):
            relevant = gallery.labels == queries.labels[start + i]
            # The first place, for CMC; scikit-learn sorts for itself.
            first.append(relevant[np.argsort(-row)[0]])
            values.append(average_precision_score(relevant, row))
    return float(np.mean(values)), float(np.mean(first))


def by_argsort(queries: EmbeddingSet, gallery: EmbeddingSet) -> float:
    """Average precision from a vectorised argsort, without regard to ties."""
    left, right = unit(queries), unit(gallery)
    _, codes = np.unique(
        np.concatenate([queries.labels, gallery.labels]), return_inverse=True
    )
    asked, stored = codes[: len(left)], codes[len(left) :]
    places = np.arange(1, len(right) + 1)
    values = []
    for start in range(0, len(left), _BLOCK):
        scores = left[start : start + _BLOCK] @ right.T
        order = np.argsort(-scores, axis=1)
        relevant = stored[order] == asked[start : start + _BLOCK, None]
        precision = np.cumsum(relevant, axis=1) / places
        values.append((precision * relevant).sum(axis=1) / relevant.sum(axis=1))
    return float(np.concatenate(values).mean())


def row_wise_product(
    queries: EmbeddingSet, gallery: EmbeddingSet, pairs: npt.NDArray[np.int64]
) -> None:
    """The dot products of listed pairs, in blocks."""
    for start in range(0, len(pairs), 65536):
        first, second = pairs[start : start + 65536].T
        np.einsum("ij,ij->i", queries.embeddings[first], gallery.embeddings[second])


def retrieval(run: Runner, size: int) -> list[Figure]:
    """MAP and CMC beside the bare product."""
    queries, gallery = people("q", size, 1.6, 1), people("g", size, 1.6, 2)
    ours, bare = run.best(
        lambda: measure(protocol(*RETRIEVAL), queries, gallery, execution=_QUIET),
        lambda: bare_product(queries, gallery),
    )
    name = f"mAP and CMC, {size:,} x {size:,} / bare product"
    return [Figure(name, ours / bare, 3)]


def memory(run: Runner, size: int) -> list[Figure]:
    """The peak of mAP, CMC and TAR above the embeddings, in a process of its own."""
    script = f"from benchmarks.evaluation import print_peak; print_peak({size})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    name = f"peak of mAP, CMC and TAR at {size:,} x {size:,}, GiB above the embeddings"
    return [Figure(name, float(done.stdout) / 2**30, 1.5)]


def print_peak(size: int) -> None:
    """Prints the bytes that an evaluation takes, once its code is compiled."""
    asked = protocol(*RETRIEVAL, *ACCEPTANCE)
    queries, gallery = people("q", size, 1.6, 1), people("g", size, 1.6, 2)
    small = people("q", 1000, 1.6, 1), people("g", 1000, 1.6, 2)
    measure(asked, *small, execution=_QUIET)
    print(peak_above(lambda: measure(asked, queries, gallery, execution=_QUIET)))


def sorting(run: Runner, size: int) -> list[Figure]:
    """MAP beside sorting: per query with scikit-learn, and vectorised."""
    queries, gallery = people("q", size, 1.6, 1), people("g", size, 1.6, 2)
    # scikit-learn takes a fixed time a query, so a part of them tells.
    part = queries.take(np.arange(size // 20))
    ours, slow, fast = run.best(
        lambda: measure(protocol(*RETRIEVAL), queries, gallery, execution=_QUIET),
        lambda: by_scikit_learn(part, gallery),
        lambda: by_argsort(queries, gallery),
    )
    return [
        Figure(
            f"scikit-learn per query / mAP and CMC, {size:,} x {size:,}",
            20 * slow / ours,
            60,
            at_most=False,
        ),
        Figure(
            f"vectorised argsort / mAP and CMC, {size:,} x {size:,}",
            fast / ours,
            8,
            at_most=False,
        ),
    ]


def listed_pairs(run: Runner, pairs: int) -> list[Figure]:
    """Verification of listed pairs, as many as IJB-C has, between its templates."""
    queries, gallery = people("q", 23_124, 1.6, 1), people("g", 23_124, 1.6, 2)
    generator = np.random.default_rng(3)
    rows = generator.integers(0, len(queries), (pairs, 2))
    # IJB-C has one genuine pair in 800.
    mates = generator.integers(0, len(queries) // CLASSES, pairs // 800) * CLASSES
    rows[: len(mates), 1] = rows[: len(mates), 0] % CLASSES + mates
    ours, bare = run.best(
        lambda: measure(
            protocol(*ACCEPTANCE), queries, gallery, pairs=rows, execution=_QUIET
        ),
        lambda: row_wise_product(queries, gallery, rows),
    )
    name = f"verification of {pairs:,} pairs / blocked row-wise product"
    return [Figure(name, ours / bare, 2)]


def all_pairs(run: Runner, size: int) -> list[Figure]:
    """Verification of every query with every gallery item beside the bare product."""
    queries, gallery = people("q", size, 1.6, 1), people("g", size, 1.6, 2)
    ours, bare = run.best(
        lambda: measure(protocol(*ACCEPTANCE), queries, gallery, execution=_QUIET),
        lambda: bare_product(queries, gallery),
    )
    name = f"TAR at 3 FARs, {size:,} x {size:,} / bare product"
    return [Figure(name, ours / bare, 3)]


def curve(run: Runner, size: int) -> list[Figure]:
    """The backfilling curve beside evaluations."""
    queries = people("q", size, 1.6, 1)
    old, new = people("g", size, 1.8, 2), people("g", size, 1.5, 2)
    order = np.random.default_rng(0).permutation(size)

    def along(
        metrics: Sequence[str], cutoffs: npt.NDArray[np.int64] | None = None
    ) -> Callable[[], object]:
        return lambda: backfilling_curve(
            old,
            new,
            order,
            queries=queries,
            metrics=metrics,
            cutoffs=cutoffs,
            distance="cosine",
            execution=_QUIET,
        )

    def once(metrics: Sequence[str]) -> Callable[[], object]:
        return lambda: measure(protocol(*metrics), queries, old, execution=_QUIET)

    low = ACCEPTANCE[:2]
    one, every, few, accepted, along_acceptance = run.best(
        once(RETRIEVAL),
        along(RETRIEVAL),
        along(RETRIEVAL, paper_cutoffs(size)),
        once(low),
        along(low),
    )
    return [
        Figure(
            f"mAP and CMC at all {size:,} cut-offs / one evaluation", every / one, 3
        ),
        Figure(
            f"22 evaluations / 22 cut-offs, {size:,} x {size:,}",
            22 * one / few,
            8,
            at_most=False,
        ),
        Figure(
            f"TAR at 101 cut-offs, {size:,} x {size:,} / one evaluation",
            along_acceptance / accepted,
            3,
        ),
    ]


def print_growth(run: Runner) -> None:
    """Prints how the time of mAP and CMC grows when one size does."""
    base = {"queries": 10_000, "gallery": 10_000, "components": 128, "relevant": 10}
    cases: list[tuple[str, int]] = [
        *(("queries", 10_000 * k) for k in (2, 4)),
        *(("gallery", 10_000 * k) for k in (2, 4)),
        *(("components", 128 * k) for k in (2, 4, 8)),
        *(("relevant", 10 * k) for k in (4, 16, 64)),
    ]

    def time_of(queries: int, gallery: int, components: int, relevant: int) -> float:
        options = {"classes": gallery // relevant, "components": components}
        sides = (
            people("q", queries, 1.6, 1, **options),
            people("g", gallery, 1.6, 2, **options),
        )
        asked = protocol(*RETRIEVAL)
        return run.best(lambda: measure(asked, *sides, execution=_QUIET))[0]

    one = time_of(**base)
    print("| what grows | from | to | time grows by |\n|---|---|---|---|")
    for name, value in cases:
        growth = time_of(**base | {name: value}) / one
        print(f"| {name} | {base[name]:,} | {value:,} | {growth:.1f} |", flush=True)


PARTS: Parts = {
    "retrieval": (retrieval, 50_000, 10_000),
    "memory": (memory, 50_000, 10_000),
    "sorting": (sorting, 10_000, 4_000),
    "listed_pairs": (listed_pairs, 15_000_000, 1_000_000),
    "all_pairs": (all_pairs, 50_000, 10_000),
    "curve": (curve, 50_000, 10_000),
}


def main() -> int:
    """Runs the benchmark; 1 where a figure does not keep its limit."""
    parser = command_line(__doc__, PARTS, repeats=3)
    parser.add_argument("--growth", action="store_true", help="how the cost grows")
    arguments = parser.parse_args()
    if "OPENBLAS_CORETYPE" in os.environ:
        print("Warning: OPENBLAS_CORETYPE is set; it may slow NumPy's product down.")
    # Compile first: that happens once a machine.
    small = people("q", 600, 1.6, 1), people("g", 600, 1.6, 2)
    measure(protocol(*RETRIEVAL, *ACCEPTANCE), *small, execution=_QUIET)
    if arguments.growth:
        print_growth(runner(arguments))
        return 0
    return print_figures(PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())

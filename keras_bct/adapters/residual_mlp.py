"""Ridge and a small network that learns what it misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.embedding_rows import finite_blocks
from keras_bct.adapters.method import Method, Settings
from keras_bct.adapters.pair_statistics import PairStatistics, gather
from keras_bct.adapters.residual_map import ResidualMap
from keras_bct.adapters.ridge import Ridge

_FEWEST_PAIRS = 100
_MOST_HELD_OUT = 10_000
_PATIENCE = 5


@dataclass(frozen=True)
class ResidualMLP(Method):
    """`ridge(z) + W_2' relu(W_1' z + b)`: the linear map, and a network beside it.

    The network starts at zero, so that training starts at `Ridge`, and is trained by
    Keras on the squared error of the pairs. A tenth of the pairs, 10,000 at most, is
    held out: the weights of the epoch that is best there are kept, and none of the
    network where Ridge is better there. Rows are read in batches, every epoch once;
    they may be memory-mapped.

    Attributes:
        units: Of the hidden layer.
        epochs: At most so many; it stops after 5 without a better one.
        batch_size: Pairs of a step.
        learning_rate: Adam's, falling to zero as a cosine.
        seed: Of initial weights, order and held-out pairs.

    Raises:
        ValueError: A number out of range, or not whole where it should be.

    Example:
        >>> ResidualMLP(units=64).fewest_pairs(8, 8)
        100
    """

    units: int = 512
    epochs: int = 40
    batch_size: int = 256
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        self._check_whole("units", "epochs", "batch_size")
        self._check_whole("seed", least=0)
        self._check_positive("learning_rate")

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """A hundred: with fewer nothing is left to hold out."""
        return _FEWEST_PAIRS

    def learn(
        self, source: NDArray[Any], target: NDArray[Any], names: tuple[str, str]
    ) -> tuple[ResidualMap, Settings]:
        """Fit Ridge, then train the network.

        The settings have `held_out_error` and `ridge_held_out_error`, mean squared
        errors summed over components on the pairs held out, and the `epochs` whose
        weights are kept, 0 for none.
        """
        for name, side in zip(names, (source, target), strict=True):
            list(finite_blocks(name, side))
        order = np.random.default_rng(self.seed).permutation(len(source))
        held_out = np.sort(order[: min(len(order) // 10, _MOST_HELD_OUT)])
        rows = np.sort(order[len(held_out) :])
        blocks = (rows[i : i + 4096] for i in range(0, len(rows), 4096))
        statistics = gather(
            ((source[block], target[block]) for block in blocks),
            names=names,
            sample_pairs=Ridge.sample_pairs,
        )
        ridge, settings = Ridge().solve(statistics)
        error = _squared_error(ridge, source, target, held_out)
        network, best, epochs = self._train(
            ridge, statistics, source, target, rows, held_out, error
        )
        return network, {
            **settings,
            "units": self.units,
            "epochs": epochs,
            "seed": self.seed,
            "held_out_error": best,
            "ridge_held_out_error": error,
        }

    def _train(
        self,
        ridge: AffineMap,
        statistics: PairStatistics,
        source: NDArray[Any],
        target: NDArray[Any],
        rows: NDArray[np.int64],
        held_out: NDArray[np.int64],
        ridge_error: float,
    ) -> tuple[ResidualMap, float, int]:
        import keras

        from keras_bct.adapters.pair_batches import PairBatches

        spread = np.sqrt(np.diagonal(statistics.source_scatter) / statistics.pairs)
        spread = np.maximum(spread, 1e-6 * spread.max())
        # So that errors are about 1 whatever the unit of the embeddings.
        size = float(np.sqrt(max(ridge_error, 1e-30) / ridge.output_size))

        def make(of: NDArray[np.int64]) -> tuple[Any, Any]:
            taken = source[of].astype(np.float64)
            x = (taken - statistics.source_mean) / spread
            y = (target[of] - ridge(taken)) / size
            return x.astype(np.float32), y.astype(np.float32)

        batches = PairBatches(rows, self.batch_size, make, self.seed)
        steps = self.epochs * len(batches)
        hidden = keras.layers.Dense(
            self.units,
            activation="relu",
            kernel_initializer=keras.initializers.HeNormal(seed=self.seed),
        )
        output = keras.layers.Dense(ridge.output_size, kernel_initializer="zeros")
        model = keras.Sequential([keras.Input((ridge.input_size,)), hidden, output])
        model.compile(
            keras.optimizers.Adam(
                keras.optimizers.schedules.CosineDecay(self.learning_rate, steps)
            ),
            loss="mse",
            jit_compile=False,
        )
        stop = keras.callbacks.EarlyStopping(
            patience=_PATIENCE, restore_best_weights=True
        )
        history = model.fit(
            batches,
            validation_data=PairBatches(held_out, 4096, make, None),
            epochs=self.epochs,
            callbacks=[stop],
            # Keras would shuffle the batches by its own global seed.
            shuffle=False,
            verbose=0,
        ).history["val_loss"]
        inner, inner_offset, outer, outer_offset = (
            w.astype(np.float64) for w in [*hidden.get_weights(), *output.get_weights()]
        )
        outer *= size
        inner /= spread[:, None]
        inner_offset -= statistics.source_mean @ inner
        weights = inner, inner_offset, outer
        if max(abs(weight).max() for weight in weights) > np.finfo(np.float32).max:
            raise ValueError(
                "Both sides should have a unit for which float32 holds the network's "
                f"weights. Received: spreads of {spread.max():.0e} and errors of "
                f"{size:.0e} to learn; multiply the sides by one number each."
            )
        trained = ResidualMap(
            AffineMap(ridge.matrix, ridge.offset + size * outer_offset),
            *(weight.astype(np.float32) for weight in weights),
        )
        error = _squared_error(trained, source, target, held_out)
        if error < ridge_error:
            return trained, error, int(np.argmin(history)) + 1
        silent = np.zeros_like(trained.output_matrix)
        return (
            ResidualMap(ridge, trained.hidden_matrix, trained.hidden_offset, silent),
            ridge_error,
            0,
        )


def _squared_error(
    found: AffineMap | ResidualMap,
    source: NDArray[Any],
    target: NDArray[Any],
    rows: NDArray[np.int64],
) -> float:
    """The mean over pairs, summed over components."""
    wrong = found(source[rows]).astype(np.float64) - target[rows]
    return float((wrong**2).sum(axis=1).mean())

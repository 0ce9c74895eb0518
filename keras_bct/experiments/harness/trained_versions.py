"""Versions trained once and kept under the digest of their configuration."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bct.array_file import write_array
from keras_bct.data import read_records
from keras_bct.evaluation import EmbeddingSet
from keras_bct.experiments.harness.kanji_data import TRAINING_PARTS, digest
from keras_bct.experiments.harness.training import Training
from keras_bct.written_whole import written_whole


class TrainedVersions:
    """The trained versions of an output folder, made when they are asked for.

    A version is trained into a folder that no one reads and renamed when it is whole,
    so that a run that was killed leaves nothing half done. One training runs at a
    time, also among several processes.

    Args:
        directory: The output folder; versions go to `trainings/<digest>/version`.
        data: Holds `train.tfrecord` and the like, as `kanji_data.prepare` writes them.
        parts: The training parts, of which trainings may be.
        train: Trains a version; `keras_bct.training.train` by default.
        say: Takes a line of progress.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        data: str | os.PathLike[str],
        *,
        parts: Sequence[str] = TRAINING_PARTS,
        train: Callable[..., object] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self.directory = Path(directory)
        self.data = Path(data)
        self._parts = tuple(parts)
        self._train = train
        self._say = say

    @functools.cached_property
    def data_digests(self) -> dict[str, str]:
        """The SHA-256 of the pictures of each training part."""
        return self.digests(self._parts)

    def digests(self, parts: Iterable[str]) -> dict[str, str]:
        """The SHA-256 of the pictures of the named parts."""
        return {part: digest(self.records(part)) for part in parts}

    def records(self, part: str) -> Path:
        """The TFRecord of a part, e.g. `test-queries`."""
        return self.data / f"{part}.tfrecord"

    def folder(self, training: Training) -> Path:
        """Where a training is kept, whether it is there or not."""
        return self.directory / "trainings" / training.digest(self.data_digests)[:16]

    def is_trained(self, training: Training) -> bool:
        """Whether the version is there."""
        return self.folder(training).exists()

    def version(self, training: Training) -> Path:
        """The SavedModel's directory, trained now if it is not there.

        Predecessors are trained first.
        """
        folder = self.folder(training)
        if not folder.exists():
            predecessor = None
            if training.predecessor is not None:
                predecessor = self.version(training.predecessor)
            with self._one_at_a_time():
                if not folder.exists():
                    self._make(training, folder, predecessor)
        return folder / "version"

    def embeddings(self, training: Training, part: str) -> EmbeddingSet:
        """A part's pictures embedded by a version; computed once and kept beside it.

        Args:
            training: The version, trained now if it is not there.
            part: `test-queries`, for example.
        """
        version = self.version(training)
        ids, labels, cameras, part_digest = self._items(part)
        stored = version.parent / "embeddings" / f"{part}-{part_digest[:16]}.npy"
        if not stored.exists():
            from keras_bct.models import load_embedder

            records = read_records(self.records(part))
            embeddings = load_embedder(version).embed_bytes(
                records.images, records.ids.tolist()
            )
            with written_whole(stored) as unfinished:
                write_array(unfinished, embeddings)
        return EmbeddingSet(ids, labels, cameras, np.load(stored, allow_pickle=False))

    @functools.lru_cache(maxsize=8)  # noqa: B019 - one instance a run
    def _items(self, part: str) -> tuple[Any, Any, Any, str]:
        records = read_records(self.records(part))
        return records.ids, records.labels, records.cameras, digest(self.records(part))

    def _make(self, training: Training, folder: Path, predecessor: Path | None) -> None:
        train = self._train or _train_with_keras()
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        self._say(
            f"training {training.name} (seed {training.recipe.seed}, "
            f"{training.recipe.steps} steps) into {folder}"
        )
        started = time.monotonic()
        train(
            training.recipe,
            [os.fspath(self.records(training.part))],
            os.fspath(unfinished / "version"),
            predecessor=predecessor and os.fspath(predecessor),
        )
        seconds = round(time.monotonic() - started, 1)
        description = {
            "name": training.name,
            "digest": training.digest(self.data_digests),
            "recipe": training.recipe.digested(),
            "part": training.part,
            "data": self.data_digests[training.part],
            "predecessor": training.predecessor
            and training.predecessor.digest(self.data_digests),
            "seconds": seconds,
        }
        (unfinished / "training.json").write_text(
            json.dumps(description, indent=1) + "\n", encoding="utf-8"
        )
        unfinished.rename(folder)
        self._say(f"trained {training.name} in {seconds} s")

    @contextlib.contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Waits for other processes' trainings; a killed process lets go by itself."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "training.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _train_with_keras() -> Callable[..., object]:
    # Here, so that looking up what is trained does not wait for Keras.
    from keras_bct.training import train

    return train

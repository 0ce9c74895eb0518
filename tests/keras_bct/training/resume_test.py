"""A training that is killed and started again ends as an unbroken one does.

The training runs in a process of its own, by the command that a user gives; this file
is also that process: python resume_test.py ARGUMENTS...
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

CRITERION_AND_STOP = {"metric": "retrieval/mAP", "patience": 100}


@pytest.fixture
def recipe(place: Any, tmp_path: Path) -> Path:
    """beta-kd with everything that has a state: optimizer, criterion, best weights."""
    path = tmp_path / "recipe.yaml"
    content = {
        "method": "beta-kd",
        "predecessor": place.version,
        "data": {"train": place.pictures},
        "width": 2,
        "embedding_size": 4,
        "batch_size": 8,
        "seed": 5,
        "steps": 60,
        "interval_steps": 3,
        "criterion": {"protocol": place.protocol, **CRITERION_AND_STOP},
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def command(recipe: Path, output: Path) -> list[str]:
    return [sys.executable, __file__, "train", str(recipe), "--output", str(output)]


def started(recipe: Path, output: Path, **options: Any) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command(recipe, output), env=environment, **options)


def done_intervals(output: Path) -> int:
    """How far a checkpoint is, read while the training goes on writing it."""
    path = output / "checkpoint.npz"
    if not path.exists():
        return 0
    with np.load(path) as file:
        return len(json.loads(file["state.json"].tobytes())["history"])


@pytest.mark.slow
def test_killed_twice_it_ends_with_the_weights_of_an_unbroken_run(
    recipe: Path, tmp_path: Path
) -> None:
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    for wanted in (4, 11):
        process = started(recipe, broken)
        while done_intervals(broken) < wanted:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wanted <= done_intervals(broken) < 20
        assert not (broken / "version").exists()
    for output in (broken, unbroken):
        assert started(recipe, output).wait() == 0
        # Given once more, it says that it is done.
        assert not (output / "checkpoint.npz").exists()

    def weights(output: Path) -> list[Any]:
        import tensorflow as tf

        version = tf.saved_model.load(str(output / "version"))
        return [variable.numpy() for variable in version.variables]

    pairs = list(zip(weights(broken), weights(unbroken), strict=True))
    assert len(pairs) > 10
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
    summaries = [
        json.loads((output / "summary.json").read_text(encoding="utf-8"))
        for output in (broken, unbroken)
    ]
    assert summaries[0]["history"] == summaries[1]["history"]
    assert summaries[0]["resumed_at"] >= 33
    assert summaries[1]["resumed_at"] == 0
    rows = "assets.extra/classifier_weights.npy"
    np.testing.assert_array_equal(
        np.load(broken / "version" / rows), np.load(unbroken / "version" / rows)
    )


if __name__ == "__main__":
    from keras_bct.__main__ import main

    sys.exit(main(sys.argv[1:]))

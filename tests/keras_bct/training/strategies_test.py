"""Two devices, and two machines, end with the weights of one device, killed or not.

Each training runs in processes of its own, because TensorFlow chooses its devices
before it starts: python strategies_test.py STRATEGY DIRECTORY OUTPUT [killed]
"""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FIELDS = {
    "method": "beta-kd",
    "steps": 12,
    "interval_steps": 6,
    # So small a step that rounding, which sums of two halves do otherwise, stays so.
    "learning_rate": 2e-4,
    "optimizer": {"name": "sgd"},
}


KILLED = -signal.SIGKILL


def run(strategy: str, directory: str, output: str, end: str = "") -> None:
    import tensorflow as tf

    if strategy == "mirrored":
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        )
    from keras_bct.training import CriterionSettings, OptimizerSettings, Recipe, train
    from keras_bct.training.checkpoint import Checkpoint

    if end == "killed":
        save = Checkpoint.save

        def save_and_die(checkpoint: Checkpoint, path: Path) -> None:
            save(checkpoint, path)
            os.kill(os.getpid(), signal.SIGKILL)

        Checkpoint.save = save_and_die
    place = Path(directory)
    recipe = Recipe(
        width=2,
        batch_size=8,
        embedding_size=4,
        seed=5,
        strategy=strategy,
        criterion=CriterionSettings(str(place / "small.yaml"), patience=100),
        **{**FIELDS, "optimizer": OptimizerSettings("sgd")},
    )
    summary = train(
        recipe,
        [str(place / "new.tfrecord")],
        f"{output}/version",
        predecessor=str(place / "version"),
        work_directory=output,
        log_directory=f"{output}/logs",
        progress=False,
    )
    devices = tf.config.list_logical_devices("CPU")
    history = summary.to_json()["history"]
    print(json.dumps([len(devices), summary.is_chief, summary.resumed_at, history]))


def start(
    strategy: str, place: Any, output: Path, *end: str, **environment: str
) -> Any:
    output.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, __file__, strategy, str(place.directory), str(output), *end],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(*processes: Any) -> list[Any]:
    """What each has printed at its end; none of them is left when one fails."""
    try:
        printed = [process.communicate(timeout=1700)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [json.loads(text.splitlines()[-1]) for text in printed]


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def weights(output: Path) -> list[Any]:
    import tensorflow as tf

    version = tf.saved_model.load(str(output / "version"))
    return [variable.numpy() for variable in version.variables]


@pytest.fixture(scope="module")
def one_device(place: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    output = tmp_path_factory.mktemp("one")
    return output, finish(start("none", place, output))[0]


def check(output: Path, history: Any, one_device: Any) -> None:
    alone, (*_, wanted) = one_device
    for weight, expected in zip(weights(output), weights(alone), strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-5, atol=1e-5)
    for logs, expected_logs in zip(history, wanted, strict=True):
        assert set(logs) == set(expected_logs)
        for name, value in expected_logs.items():
            np.testing.assert_allclose(logs[name], value, rtol=1e-4, atol=1e-4)


def kill(first: Any, *others: Any) -> None:
    """Waits until the first has killed itself, and takes the others with it."""
    first.communicate(timeout=1700)
    for process in others:
        process.kill()
        process.communicate()
    assert first.returncode == KILLED


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["unbroken", "killed"])
def test_two_devices_of_one_machine(
    killed: bool, place: Any, tmp_path: Path, one_device: Any
) -> None:
    if killed:
        kill(start("mirrored", place, tmp_path, "killed"))
    ((devices, chief, resumed_at, history),) = finish(
        start("mirrored", place, tmp_path)
    )
    assert (devices, chief, resumed_at) == (2, True, 6 * killed)
    check(tmp_path, history, one_device)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["unbroken", "killed"])
def test_two_machines(
    killed: bool, place: Any, tmp_path: Path, one_device: Any
) -> None:
    def both(*end: str) -> list[Any]:
        workers = [f"localhost:{port}" for port in free_ports(2)]
        cluster = {"worker": workers}
        tasks = [{"type": "worker", "index": index} for index in range(2)]
        configs = [{"cluster": cluster, "task": task} for task in tasks]
        # Both are given one output, as on a disk that they share.
        return [
            start("multi-worker", place, tmp_path, *end, TF_CONFIG=json.dumps(config))
            for config in configs
        ]

    if killed:
        kill(*both("killed"))
    (_, first, resumed_at, history), (_, second, _, other) = finish(*both())
    assert (first, second, resumed_at) == (True, False, 6 * killed)
    assert history == other
    check(tmp_path, history, one_device)


if __name__ == "__main__":
    run(*sys.argv[1:])

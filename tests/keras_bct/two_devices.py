"""Trainings on one device and on two, in a process of their own.

TensorFlow divides the CPU into logical devices only before it starts. A test file that
takes part is run as a program, `python FILE RESULT.npz`, and calls `save` then.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).parents[2]


def save(path, cases, train):
    """Writes the weights that `train(case, strategy)` ends with, on both."""
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * 2
    )
    mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert mirrored.num_replicas_in_sync == 2
    one = tf.distribute.get_strategy()
    results = {}
    for case in cases:
        for where, strategy in (("one", one), ("two", mirrored)):
            for index, weight in enumerate(train(case, strategy)):
                results[f"{case}/{where}/{index:02}"] = weight
    np.savez(path, **results)


def trained(file, folder):
    """Runs a test file as a program and reads what it saved."""
    path = folder / "weights.npz"
    subprocess.run(
        [sys.executable, file, str(path)],
        check=True,
        timeout=1700,
        # Not all of `sys.path`: libraries of other tests add their own `tests` to it.
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    with np.load(path) as results:
        return dict(results)


def assert_two_end_as_one(results, case):
    """Compares the weights of a case, to 1e-5."""
    keys = [key for key in results if key.startswith(f"{case}/one/")]
    assert keys
    for key in keys:
        two = results[key.replace("/one/", "/two/")]
        np.testing.assert_allclose(two, results[key], atol=1e-5, err_msg=key)

"""What several workers need to be told."""

import json

import pytest

from keras_bct.training import Recipe
from keras_bct.training.strategy import Devices

RECIPE = Recipe("independent", 2, 10, strategy="multi-worker")


@pytest.mark.parametrize(
    "config", [None, "no JSON", '{"cluster": {"worker": ["a:1"]}}'], ids=str
)
def test_workers_without_a_cluster_are_refused(
    config: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if config is not None:
        monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match=r"'multi-worker' reads .* TF_CONFIG"):
        Devices(RECIPE)


@pytest.mark.parametrize(("kind", "index"), [("worker", 1), ("ps", 0)])
def test_a_task_outside_the_cluster_is_refused(
    kind: str, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"cluster": {"worker": ["a:1"]}, "task": {"type": kind, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(ValueError, match="task of a chief or of one of the 1 workers"):
        Devices(RECIPE)


def test_one_device_is_the_default() -> None:
    devices = Devices(Recipe("independent", 2, 10))
    assert devices.strategy is None
    assert devices.is_chief

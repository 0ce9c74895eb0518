"""What docs/alignment.md shows runs, from top to bottom."""

import re
from pathlib import Path

import numpy as np
import pytest

from keras_bct.adapters import load_adapter

MANUAL = Path(__file__).parents[3] / "docs/alignment.md"


@pytest.mark.slow
def test_its_code_runs_and_gives_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(
        r"(?ms)^```python\n(.*?)^```", MANUAL.read_text(encoding="utf-8")
    ):
        exec(block, names)
    adapter = load_adapter(tmp_path / "faces-1-to-2")
    np.testing.assert_allclose(
        adapter.transform(names["gallery"]), names["mapped"], atol=1e-6
    )
    curve = names["curve"]
    assert curve.values["retrieval/mAP"][-1] > curve.values["retrieval/mAP"][0]

"""Foreign files are opened behind the guards that stand in one place."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("keras_bct", "registry", "tfx_pipeline")


def places(pattern):
    """The files that a pattern occurs in."""
    return {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }


def test_arrow_and_parquet_files_are_opened_in_one_place():
    # A file that PyArrow 10 opens without its hotfix can run code.
    opened = r"\bipc\.(open|read)_|ParquetFile\(|(pq|parquet)\.read_|"
    opened += r"feather\.read|dataset\.dataset\(|orc\."

    assert places(opened) == {"keras_bct/tables/arrow_file.py"}


def test_no_file_is_unpickled():
    pickled = (
        r"allow_pickle=True|import c?[pP]ickle|joblib|yaml\.(unsafe_|full_)?load\("
    )

    assert places(pickled) == set()


def test_no_keras_model_is_loaded_with_the_code_that_it_carries():
    assert places(r"safe_mode=False|enable_unsafe_deserialization") == set()

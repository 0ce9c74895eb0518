"""A run of the tests leaves nothing in the machine's temporary folder."""

import subprocess
import sys
import tempfile
from pathlib import Path


def test_what_a_killed_child_leaves_lies_in_a_folder_that_pytest_removes(
    tmp_path_factory,
):
    child = "import os, tempfile; print(tempfile.mkdtemp(), flush=True); os.abort()"
    left = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
    for folder in (tempfile.gettempdir(), left.stdout.strip()):
        assert tmp_path_factory.getbasetemp() in Path(folder).parents

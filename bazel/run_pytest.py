"""Runs the test files named on the command line, as the main of a py_test."""

import os
import sys

import pytest

if __name__ == "__main__":
    # Bazel shows the report when it is told where to find one.
    report = os.environ.get("XML_OUTPUT_FILE")
    options = ["-p", "no:cacheprovider"] + ([f"--junitxml={report}"] if report else [])
    sys.exit(pytest.main(options + sys.argv[1:]))

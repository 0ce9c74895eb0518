"""Tests in pytest's words, as Bazel's py_test targets."""

load("@rules_python//python:defs.bzl", "py_test")

def pytest_suite(deps, data = [], size = "medium", light = []):
    """Declares a py_test for each `*_test.py` in the package that calls it.

    Args:
        deps: The py_library targets that the tests import.
        data: Files that they read.
        size: Of each test.
        light: The tests that CI runs with Bazel too: a few seconds each, without
            TensorFlow.
    """
    tests = native.glob(["*_test.py"])
    fixtures = native.glob(["**"], exclude = tests + ["BUILD", "**/*.pyc"])
    for test in tests:
        py_test(
            name = test[:-len(".py")],
            size = size,
            srcs = [test, "//bazel:run_pytest.py"],
            args = ["$(location %s)" % test],
            data = fixtures + data + ["//:pyproject.toml"],
            main = "//bazel:run_pytest.py",
            tags = ["light"] if test in light else [],
            deps = deps,
        )

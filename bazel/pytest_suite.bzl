"""Tests in pytest's words, as Bazel's py_test targets."""

load("@rules_python//python:defs.bzl", "py_test")

def pytest_suite(deps, data = [], size = "medium", small = []):
    """Declares a py_test for each `*_test.py` in the package that calls it.

    Args:
        deps: The py_library targets that the tests import.
        data: Files that they read.
        size: Of each test.
        small: The tests that are small all the same: `make bazel` runs those, which
            need no TensorFlow.
    """
    tests = native.glob(["*_test.py"])
    fixtures = native.glob(["**"], exclude = tests + ["BUILD", "**/*.pyc"])
    for test in tests:
        py_test(
            name = test[:-len(".py")],
            size = "small" if test in small else size,
            srcs = [test, "//bazel:run_pytest.py"],
            args = ["$(location %s)" % test],
            data = fixtures + data + ["//:pyproject.toml"],
            main = "//bazel:run_pytest.py",
            deps = deps,
        )

"""The interpreter of .venv as Bazel's Python toolchain."""

_BUILD = """
load("@rules_python//python:py_runtime.bzl", "py_runtime")
load("@rules_python//python:py_runtime_pair.bzl", "py_runtime_pair")

py_runtime(
    name = "runtime",
    interpreter_path = "{interpreter}",
    python_version = "PY3",
    # Debian has no `python`, which Bazel 4 would start its tests with.
    stub_shebang = "#!/usr/bin/env python3",
)

py_runtime_pair(
    name = "runtimes",
    py3_runtime = ":runtime",
)

toolchain(
    name = "python",
    toolchain = ":runtimes",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _environment_impl(repository_ctx):
    root = repository_ctx.path(Label("//:WORKSPACE")).dirname
    interpreter = root.get_child(".venv").get_child("bin").get_child("python")
    if not interpreter.exists:
        fail("Expected an interpreter at %s. Run: make environment" % interpreter)
    repository_ctx.file("BUILD", _BUILD.format(interpreter = interpreter))

environment = repository_rule(
    implementation = _environment_impl,
    doc = "A repository whose target `python` is the toolchain of .venv.",
    local = True,
)

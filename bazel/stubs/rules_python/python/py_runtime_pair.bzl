"""The pair of interpreters that a toolchain names, from Bazel 4's own tools."""

load("@bazel_tools//tools/python:toolchain.bzl", _py_runtime_pair = "py_runtime_pair")

py_runtime_pair = _py_runtime_pair

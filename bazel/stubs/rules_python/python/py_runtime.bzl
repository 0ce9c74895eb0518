"""An interpreter, as the rule built into Bazel 4."""

def py_runtime(**kwargs):
    native.py_runtime(**kwargs)

"""rules_python's public rules, as the ones built into Bazel 4."""

def py_library(**kwargs):
    native.py_library(**kwargs)

def py_binary(**kwargs):
    native.py_binary(**kwargs)

def py_test(**kwargs):
    native.py_test(**kwargs)

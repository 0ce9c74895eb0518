"""No two modules lean on each other: each can be read after those that it imports."""

import grimp


def test_no_modules_of_keras_bct_import_one_another_in_a_circle():
    graph = grimp.build_graph("keras_bct", cache_dir=None)
    waiting = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
    }

    # What imports none of those that wait can be read; what stays is a circle, or
    # stands on one.
    while ready := {module for module, needs in waiting.items() if not needs}:
        waiting = {
            module: needs - ready
            for module, needs in waiting.items()
            if module not in ready
        }

    assert waiting == {}

import numba.core.caching as caching

from keras_bct.evaluation.engine.kernels.compilation import kept_on_disk


def test_what_no_folder_can_keep_is_compiled_all_the_same(monkeypatch):
    """As in a container with a read-only installation and no home."""

    def refuse(self):
        raise OSError("Read-only file system")

    for name in ("InTreeCacheLocator", "UserWideCacheLocator"):
        monkeypatch.setattr(getattr(caching, name), "ensure_cache_path", refuse)

    @kept_on_disk()
    def twice(x):
        return 2 * x

    assert twice(21) == 42

import pytest

from registry import Registry, UsageError
from tfx_pipeline.predecessor_resolver import PredecessorResolver
from tfx_pipeline.registry_access import open_registry


def test_the_database_is_named_by_the_environment(registry, tmp_path, monkeypatch):
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    Registry.init(registry.root.url, database=elsewhere).database.close()
    at_home = registry.root.path("registry.db")
    assert open_registry(registry.root.url).database.url.database == str(at_home)
    monkeypatch.setenv("REGISTRY_DATABASE", elsewhere)
    opened = open_registry(registry.root.url)
    assert opened.database.url.database == f"{tmp_path}/elsewhere.db"
    opened.database.close()


def test_a_variable_that_is_not_set_is_no_silent_other_database(registry):
    with pytest.raises(UsageError, match="UNSET_VARIABLE should hold the URL"):
        open_registry(registry.root.url, "UNSET_VARIABLE")


def test_a_url_in_place_of_a_name_is_refused_and_not_shown(registry):
    with pytest.raises(UsageError, match="should be the name") as refused:
        open_registry(registry.root.url, "postgresql://me:S3cret@host/name")
    assert "S3cret" not in str(refused.value)


def test_a_component_asks_that_database(registry, toy_model, tmp_path, monkeypatch):
    from tfx.types.standard_artifacts import Model

    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    other = Registry.init(registry.root.url, database=elsewhere)
    other.register("toy", toy_model("old"))
    other.promote("toy/1", "production", require_compatible=True)
    other.database.close()
    monkeypatch.setenv("OF_TOYS", elsewhere)
    model = Model()
    model.uri = str(tmp_path / "model")
    PredecessorResolver.test_call(
        registry_root=registry.root.url,
        model_name="toy",
        alias="production",
        model=model,
        database_variable="OF_TOYS",
    )
    assert model.get_string_custom_property("version") == "toy/1"
    assert registry.versions() == []

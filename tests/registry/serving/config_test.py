import shutil

import pytest

from registry.cli.main import build_parser, main
from registry.serving.config import serving_config


@pytest.fixture
def parse():
    """TensorFlow Serving's own reader of the text format."""
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    def parse(text):
        config = model_server_config_pb2.ModelServerConfig()
        text_format.Parse(text, config)
        return config.model_config_list.config

    return parse


def test_the_aliases_are_the_versions_that_are_served(
    registry, make_model, make_evidence, protocol, parse
):
    for name in "abc":
        registry.register("glyphs", make_model(name))
    registry.promote(
        "glyphs/1", "production", require_compatible=True, protocol=protocol
    )
    registry.promote("glyphs/1", "fallback", require_compatible=True, protocol=protocol)
    registry.add_evidence(make_evidence("glyphs/2", "glyphs/1"))
    registry.promote("glyphs/2", "production", require_compatible=True)

    (config,) = parse(registry.serving_config())
    assert config.name == "glyphs"
    assert config.base_path == f"{registry.root.url}/glyphs"
    assert config.model_platform == "tensorflow"
    # Number 3 is newer, but was not promoted.
    assert list(config.model_version_policy.specific.versions) == [1, 2]
    assert dict(config.version_labels) == {"production": 2, "fallback": 1}


def test_a_model_without_alias_is_not_served(registry, make_model, parse):
    registry.register("glyphs", make_model("a"))
    assert len(parse(registry.serving_config())) == 0


def test_a_path_with_quotes_and_accents_survives(parse):
    path = '/srv/"models"\\é/glyphs'
    (config,) = parse(serving_config({"glyphs": (path, {"production": 1})}))
    assert config.base_path == path


def test_a_version_whose_files_are_gone_is_not_named_but_said(three, parse, capsys):
    three.promote("glyphs/2", "canary", force=True, reason="a test")
    shutil.rmtree(three.version("glyphs/1").location)
    (config,) = parse(three.serving_config())
    assert dict(config.version_labels) == {"canary": 2}
    assert list(config.model_version_policy.specific.versions) == [2]
    argv = ["--root", three.root.url, "serving-config"]
    assert main(build_parser().parse_args(argv)) == 4
    said = capsys.readouterr()
    assert said.out == three.serving_config()
    assert "glyphs@production is left out" in said.out
    assert "the files of glyphs/1 are gone" in said.err
    assert "rollback glyphs@production" in said.err


def test_a_registry_whose_versions_are_all_gone_makes_a_configuration_of_none(
    three, parse
):
    shutil.rmtree(three.root.path("glyphs"))
    assert len(parse(three.serving_config())) == 0

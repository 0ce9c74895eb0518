"""The PredecessorResolver component."""

import shutil

from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter
from tfx.types.standard_artifacts import Model
from tfx.utils import path_utils

from tfx_pipeline.registry_access import DATABASE_VARIABLE, open_registry


@tfx.dsl.components.component
def PredecessorResolver(  # noqa: N802 - a component is named like a class
    registry_root: Parameter[str],
    model_name: Parameter[str],
    alias: Parameter[str],
    model: OutputArtifact[Model],
    database_variable: Parameter[str] = DATABASE_VARIABLE,
) -> None:
    """Emits the version that an alias serves as a standard `Model` artifact.

    The artifact is a copy, so that MLMD keeps what was trained against. Its custom
    properties `version` and `fingerprint` name the version; both are empty, and there
    is no SavedModel, where the alias does not exist yet.

    Args:
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias whose version is the predecessor.
        model: The predecessor.
        database_variable: Name of the environment variable that holds the URL of the
            registry's database; see `tfx_pipeline.registry_access`.
    """
    registry = open_registry(registry_root, database_variable)
    aliases = registry.aliases(model_name)
    version = next((found.version for found in aliases if found.name == alias), None)
    if version is None:
        print(f"no {model_name}@{alias} yet: this run is the bootstrap", flush=True)
        model.set_string_custom_property("version", "")
        model.set_string_custom_property("fingerprint", "")
        return
    print(f"predecessor: {version} ({model_name}@{alias})", flush=True)
    with registry.local_version(version) as directory:
        shutil.copytree(directory, path_utils.serving_model_dir(model.uri))
    model.set_string_custom_property("version", str(version))
    model.set_string_custom_property("fingerprint", version.fingerprint)

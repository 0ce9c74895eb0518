"""A run of the aligned form whose components are called one by one."""

import copy
import json
import shutil

from tfx.types.standard_artifacts import Examples, Model, ModelBlessing, PushedModel

from keras_bct.data import write_records
from tfx_pipeline.aligner import Aligner
from tfx_pipeline.artifacts import (
    AlignmentAdapter,
    CompatibilityEvidence,
    ScannIndex,
)
from tfx_pipeline.compatibility_evaluator import CompatibilityEvaluator
from tfx_pipeline.registry_pusher import RegistryPusher
from tfx_pipeline.scann_indexer import ScannIndexer


class Run:
    """One run from the trained model on, with artifacts in a folder of its own."""

    def __init__(self, registry, protocol, trained, predecessor, folder, aligned):
        self.folder = folder
        self.names = {
            "registry_root": str(registry),
            "model_name": "toy",
            "alias": "production",
        }
        self.protocol = str(protocol)
        kinds = {
            "model": Model,
            "predecessor": Model,
            "blessing": ModelBlessing,
            "evidence": CompatibilityEvidence,
            "pushed_model": PushedModel,
            "index": ScannIndex,
            "adapter": AlignmentAdapter,
            "examples": Examples,
        }
        self.artifacts = {name: kind() for name, kind in kinds.items()}
        for name, artifact in self.artifacts.items():
            artifact.uri = str(folder / name)
        self.artifacts["examples"].split_names = json.dumps(["train"])
        shutil.copytree(trained, folder / "model" / "Format-Serving")
        self.artifacts["predecessor"].set_string_custom_property("version", predecessor)
        self.adapter = {"adapter": self.artifacts["adapter"]} if aligned else {}

    def on(self, registry):
        """The same run, on a copy of its registry."""
        other = copy.copy(self)
        other.names = {**self.names, "registry_root": registry.root.url}
        return other

    def take(self, *names):
        return {name: self.artifacts[name] for name in names}

    def align(self, records, **terms):
        folder = self.folder / "examples" / "Split-train"
        folder.mkdir(parents=True)
        write_records(folder / "data.gz", records, compression="GZIP")
        Aligner.test_call(
            **self.names,
            **self.take("examples", "model", "predecessor", "adapter"),
            **{"gallery": "toys", "method": "Ridge", **terms},
        )

    def evaluate(self, paragon="new"):
        CompatibilityEvaluator.test_call(
            **self.names,
            **self.take("model", "predecessor", "blessing", "evidence"),
            **self.adapter,
            protocol=self.protocol,
            paragon=paragon,
        )
        return self.artifacts["evidence"].answer

    def push(self):
        inputs = self.take("model", "predecessor", "blessing", "evidence")
        RegistryPusher.test_call(
            **self.names,
            **inputs,
            **self.take("pushed_model"),
            **self.adapter,
            protocol=self.protocol,
            gallery="toys",
            queries="",
        )
        pushed = self.artifacts["pushed_model"]
        return {
            name: pushed.get_custom_property(name)
            for name in ("pushed", "pushed_version", "reasons")
        }

    def index(self, images=""):
        ScannIndexer.test_call(
            **self.names,
            **self.take("pushed_model", "index"),
            **self.adapter,
            gallery="toys",
            images=images,
            queries="",
        )
        return json.loads((self.folder / "index" / "index.json").read_text())

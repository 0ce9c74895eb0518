"""The pipeline: examples in, a gated version and its index out."""

import dataclasses
import json
import os
from typing import Any

from tfx import v1 as tfx

from keras_bct.training import Recipe
from tfx_pipeline.aligner import Aligner
from tfx_pipeline.aligner.methods import check_method
from tfx_pipeline.compatibility_evaluator import CompatibilityEvaluator
from tfx_pipeline.predecessor_resolver import PredecessorResolver
from tfx_pipeline.preflight import check_run
from tfx_pipeline.registry_access import DATABASE_VARIABLE
from tfx_pipeline.registry_pusher import RegistryPusher
from tfx_pipeline.scann_indexer import ScannIndexer

# These read or change the registry, which MLMD cannot see: a cached run of theirs
# would answer for a registry that has moved on.
UNCACHED = (
    PredecessorResolver,
    Aligner,
    CompatibilityEvaluator,
    RegistryPusher,
    ScannIndexer,
)


@dataclasses.dataclass(frozen=True)
class Data:
    """Where the training pictures lie.

    Attributes:
        directory: A directory of TFRecords of `tf.train.Example`s.
        train: Pattern of the training pictures within it.
        eval: Pattern of the pictures whose statistics are compared with them.
        schema: A TFMD schema, `schema.pbtxt`, that both must follow.
    """

    directory: str
    train: str
    eval: str
    schema: str


@dataclasses.dataclass(frozen=True)
class Gallery:
    """The gallery that is served.

    Attributes:
        name: Its name in the registry.
        images: TFRecord pattern of its pictures, to embed the ones it does not hold
            yet; empty to index only what is stored.
        queries: TFRecord pattern of pictures to measure the index's recall with;
            empty to measure it with rows of the gallery, which are easier to find.
    """

    name: str
    images: str = ""
    queries: str = ""


@dataclasses.dataclass(frozen=True)
class Alignment:
    """How stored vectors are mapped into the new model's space.

    Attributes:
        method: `Ridge`, `Procrustes`, `ScaledRotation`, `LowRank`, `ResidualMLP`,
            `LambdaOrthogonal` or `FastFill`; see docs/adapters.md and
            docs/alignment.md.
        settings: What the method is told, by name.
        embeddings: Name of the gallery that stores the older versions' embeddings of
            training pictures; those that it does not store are embedded once a run.

    Raises:
        ValueError: An unknown method, or settings that it does not take.
    """

    method: str = "Ridge"
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    embeddings: str = ""

    def __post_init__(self) -> None:
        """Check the method and its settings."""
        check_method(self.method, self.settings)


@dataclasses.dataclass(frozen=True)
class PipelineConfiguration:
    """One run of the pipeline, as its YAML file says it.

    Attributes:
        name: The pipeline's name in MLMD.
        root: Directory of the pipeline's artifacts and of its MLMD database.
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias that a blessed model is promoted to.
        protocol: Path of the protocol file.
        paragon: The version at the top of the gain; empty for no gain; `new` for the
            trained model itself.
        data: The training pictures.
        recipe: How to train.
        gallery: The gallery that is served; None for a run that indexes nothing.
        aligner: How stored vectors are mapped, for a model that is trained freely;
            None for one that is trained to work on them as they are.
        database_variable: Name of the environment variable that holds the URL of the
            registry's database. Without it `registry.db` in the root is taken.
    """

    name: str
    root: str
    registry_root: str
    model_name: str
    alias: str
    protocol: str
    data: Data
    recipe: Recipe
    gallery: Gallery | None = None
    paragon: str = ""
    aligner: Alignment | None = None
    database_variable: str = DATABASE_VARIABLE


def create_pipeline(configuration: PipelineConfiguration) -> tfx.dsl.Pipeline:
    """Builds the TFX pipeline of a configuration.

    Args:
        configuration: The run.

    Returns:
        A pipeline for any TFX runner.

    Raises:
        UsageError: The run cannot succeed; see `check_run`.
    """
    check_run(configuration)
    data = configuration.data
    gallery = configuration.gallery
    split = tfx.proto.Input.Split
    examples = tfx.components.ImportExampleGen(
        input_base=data.directory,
        input_config=tfx.proto.Input(
            splits=[
                split(name="train", pattern=data.train),
                split(name="eval", pattern=data.eval),
            ]
        ),
    )
    statistics = tfx.components.StatisticsGen(examples=examples.outputs["examples"])
    schema = tfx.components.ImportSchemaGen(schema_file=data.schema)
    validator = tfx.components.ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    registry_model = {
        "registry_root": configuration.registry_root,
        "model_name": configuration.model_name,
        "alias": configuration.alias,
        "database_variable": configuration.database_variable,
    }
    served = "" if gallery is None else gallery.name
    queries = "" if gallery is None else gallery.queries
    resolver = PredecessorResolver(**registry_model)
    trainer = tfx.components.Trainer(
        run_fn="tfx_pipeline.trainer.run_fn.run_fn",
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        base_model=resolver.outputs["model"],
        train_args=tfx.proto.TrainArgs(num_steps=configuration.recipe.steps),
        eval_args=tfx.proto.EvalArgs(),
        custom_config={"recipe": dataclasses.asdict(configuration.recipe)},
    )
    # Absent inputs are left out, as TFX wants it.
    aligned: dict[str, Any] = {}
    aligners = []
    if configuration.aligner is not None:
        aligner = Aligner(
            examples=examples.outputs["examples"],
            model=trainer.outputs["model"],
            predecessor=resolver.outputs["model"],
            gallery=served,
            method=configuration.aligner.method,
            settings=json.dumps(configuration.aligner.settings),
            embeddings=configuration.aligner.embeddings,
            **registry_model,
        )
        aligners = [aligner]
        aligned = {"adapter": aligner.outputs["adapter"]}
    evaluator = CompatibilityEvaluator(
        model=trainer.outputs["model"],
        predecessor=resolver.outputs["model"],
        protocol=configuration.protocol,
        paragon=configuration.paragon,
        **aligned,
        **registry_model,
    )
    pusher = RegistryPusher(
        model=trainer.outputs["model"],
        predecessor=resolver.outputs["model"],
        blessing=evaluator.outputs["blessing"],
        evidence=evaluator.outputs["evidence"],
        protocol=configuration.protocol,
        gallery=served,
        queries=queries,
        **aligned,
        **registry_model,
    )
    indexers = []
    if gallery is not None:
        indexer = ScannIndexer(
            pushed_model=pusher.outputs["pushed_model"],
            gallery=gallery.name,
            images=gallery.images,
            queries=gallery.queries,
            **aligned,
            **registry_model,
        )
        indexers = [indexer]
    return tfx.dsl.Pipeline(
        pipeline_name=configuration.name,
        pipeline_root=os.path.join(configuration.root, "artifacts"),
        metadata_connection_config=(
            tfx.orchestration.metadata.sqlite_metadata_connection_config(
                os.path.join(configuration.root, "mlmd.db")
            )
        ),
        enable_cache=True,
        components=[
            examples,
            statistics,
            schema,
            validator,
            resolver,
            trainer,
            *aligners,
            evaluator,
            pusher,
            *indexers,
        ],
    )

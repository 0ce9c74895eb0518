"""The pipeline: examples in, a gated version and its index out."""

import dataclasses
import os

from tfx import v1 as tfx

from keras_bct.training import Recipe
from tfx_pipeline.compatibility_evaluator import CompatibilityEvaluator
from tfx_pipeline.predecessor_resolver import PredecessorResolver
from tfx_pipeline.registry_pusher import RegistryPusher
from tfx_pipeline.scann_indexer import ScannIndexer

# These read or change the registry, which MLMD cannot see: a cached run of theirs
# would answer for a registry that has moved on.
UNCACHED = (
    PredecessorResolver,
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
class PipelineConfiguration:
    """One run of the pipeline, as its YAML file says it.

    Attributes:
        name: The pipeline's name in MLMD.
        root: Directory of the pipeline's artifacts and of its MLMD database.
        registry_root: The registry's root.
        model_name: The name of the model in the registry.
        alias: The alias that a blessed model is promoted to.
        protocol: Path of the protocol file.
        paragon: The version at the top of the gain; empty for no gain.
        data: The training pictures.
        gallery: The gallery that is served.
        recipe: How to train.
    """

    name: str
    root: str
    registry_root: str
    model_name: str
    alias: str
    protocol: str
    data: Data
    gallery: Gallery
    recipe: Recipe
    paragon: str = ""


def create_pipeline(configuration: PipelineConfiguration) -> tfx.dsl.Pipeline:
    """Builds the TFX pipeline of a configuration.

    Args:
        configuration: The run.

    Returns:
        A pipeline for any TFX runner.
    """
    data = configuration.data
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
    }
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
    evaluator = CompatibilityEvaluator(
        model=trainer.outputs["model"],
        predecessor=resolver.outputs["model"],
        protocol=configuration.protocol,
        paragon=configuration.paragon,
        **registry_model,
    )
    pusher = RegistryPusher(
        model=trainer.outputs["model"],
        predecessor=resolver.outputs["model"],
        blessing=evaluator.outputs["blessing"],
        evidence=evaluator.outputs["evidence"],
        protocol=configuration.protocol,
        **registry_model,
    )
    indexer = ScannIndexer(
        pushed_model=pusher.outputs["pushed_model"],
        gallery=configuration.gallery.name,
        images=configuration.gallery.images,
        queries=configuration.gallery.queries,
        **registry_model,
    )
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
            evaluator,
            pusher,
            indexer,
        ],
    )

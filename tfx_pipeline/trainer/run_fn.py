"""The function that TFX's Trainer calls: one recipe in, one version out."""

import os

from tfx.components.trainer.fn_args_utils import FnArgs

from keras_bct.configuration import from_mapping
from keras_bct.training import Recipe, train


def run_fn(fn_args: FnArgs) -> None:
    """Trains the recipe in `custom_config` on the `train` split.

    Args:
        fn_args: TFX's arguments; `base_model` holds the predecessor's SavedModel, or
            nothing at all where there is no predecessor.
    """
    recipe = from_mapping(
        Recipe, fn_args.custom_config["recipe"], source="Trainer custom_config"
    )
    has_predecessor = os.path.exists(os.path.join(fn_args.base_model, "saved_model.pb"))
    train(
        recipe,
        fn_args.train_files,
        fn_args.serving_model_dir,
        predecessor=fn_args.base_model if has_predecessor else None,
        compression="GZIP",
        log_directory=fn_args.model_run_dir,
    )

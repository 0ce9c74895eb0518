"""`python -m keras_bct train`: train a version from a recipe."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from keras_bct.counted import counted
from keras_bct.training import Recipe, read_recipe, recipe_names
from keras_bct.written_whole import written_whole

_DESCRIPTION = """\
Train a version from a recipe, compatibly with its predecessor.

  python -m keras_bct.data.glyphs kanji
  python -m keras_bct train kanji-phi1 --output phi1
  python -m keras_bct train kanji-beta-sys --output beta-sys --set influence_weight=2

OUTPUT/version is the SavedModel, OUTPUT/logs is for TensorBoard. A training that was
stopped goes on from its last checkpoint when the same command is given again.
"""

_EPILOG = """\
recipes that come with the package ({folder}):
  {names}
A section's fields are set with a dot: --set data.train='faces/*.tfrecord'
--set criterion.patience=3. Paths are relative to the working directory.
"""


def add_parser(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "train",
        help="train a version from a recipe",
        description=_DESCRIPTION,
        epilog=_EPILOG.format(
            folder="keras_bct/recipes", names="\n  ".join(recipe_names())
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a YAML file, or the name of a recipe")
    add("--output", required=True, metavar="DIR", help="folder of all that is written")
    add(
        "--set",
        action="append",
        default=[],
        dest="changes",
        metavar="KEY=VALUE",
        help="change a field of the recipe; the value in YAML",
    )
    add("--json", metavar="FILE", dest="json_path", help="write the summary")
    add("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command.

    Raises:
        ValueError: The recipe or what it names cannot be used.
        OSError: A file cannot be read or written.
    """
    recipe = read_recipe(arguments.recipe, arguments.changes)
    if recipe.data is None:
        raise ValueError(
            "The recipe should name its pictures: data: {train: PATTERN}, or "
            f"--set data.train=PATTERN. Received: {arguments.recipe} without `data`"
        )
    output = Path(arguments.output)
    if (output / "version" / "saved_model.pb").exists():
        summary = _trained_already(recipe, output, progress=not arguments.quiet)
        print(f"{output / 'version'} is trained already.")
    else:
        trained = _train(recipe, output, progress=not arguments.quiet)
        if trained is None:
            return 0
        summary = trained
    _print(summary)
    if arguments.json_path is not None:
        with written_whole(Path(arguments.json_path)) as unfinished:
            unfinished.write_text(
                json.dumps(summary, indent=1) + "\n", encoding="utf-8"
            )
    return 0


def _trained_already(recipe: Recipe, output: Path, *, progress: bool) -> dict[str, Any]:
    """Gives the summary of the version that is there, or refuses another training's."""
    # Here, so that --help does not wait for TensorFlow.
    from keras_bct.training.identity import differences, identity
    from keras_bct.training.pictures import TrainingPictures

    assert recipe.data is not None, "checked before"
    path = output / "summary.json"
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    pictures = TrainingPictures(
        recipe,
        recipe.data.patterns,
        compression=recipe.data.compression,
        progress=progress,
    )
    changed = differences(
        summary.get("identity", {}), identity(recipe, pictures, recipe.predecessor)
    )
    if changed:
        raise ValueError(
            f"{output} holds the version of another training: {changed}. Give another "
            "--output."
        )
    # Killed after the version was there and before this was gone.
    (output / "checkpoint.npz").unlink(missing_ok=True)
    return summary


def _train(recipe: Recipe, output: Path, *, progress: bool) -> dict[str, Any] | None:
    """Trains, and gives the summary; None where another worker writes it."""
    # Here, so that --help does not wait for Keras.
    from keras_bct.training import train

    assert recipe.data is not None, "checked before"
    output.mkdir(parents=True, exist_ok=True)
    summary = train(
        recipe,
        recipe.data.patterns,
        str(output / "version"),
        compression=recipe.data.compression,
        log_directory=str(output / "logs"),
        work_directory=str(output),
        progress=progress,
    )
    return summary.to_json() if summary.is_chief else None


def _print(summary: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_header=False)
    rows = {
        "version": summary["directory"],
        "method": summary["method"],
        "pictures": f"{summary['pictures']:,} of "
        + counted(summary["classes"], "class", "classes"),
        "steps": f"{summary['steps']:,}"
        + (", stopped early" if summary["stopped_early"] else ""),
        "seconds": f"{summary['seconds']:,}",
    }
    rows |= {name: f"{value:.4g}" for name, value in summary["last"].items()}
    for name, value in rows.items():
        table.add_row(name, str(value))
    Console(highlight=False).print(table)

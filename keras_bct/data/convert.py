"""Data sets as they are distributed to TFRecords and protocols.

python -m keras_bct.data.convert market1501 Market-1501-v15.09.15 out/market
python -m keras_bct.data.convert --help
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
from collections.abc import Callable, Sequence

from keras_bct.command_line import escape_what_cannot_be_printed
from keras_bct.data import ijbc, imagenet, market1501, places, vggface2
from keras_bct.data.class_split import first_share
from keras_bct.data.csv_list import read_csv_list
from keras_bct.data.image_folder import read_image_folder
from keras_bct.data.image_list import ImageList
from keras_bct.data.image_preparation import Preparation
from keras_bct.data.own_size import OwnSize

Options = argparse.Namespace


def run(arguments: Sequence[str] | None = None) -> int:
    """Convert the set that the command line names.

    Returns:
        0, or 2 for a set that is not as it should be.
    """
    escape_what_cannot_be_printed()
    options = _parser().parse_args(arguments)
    options.written = []
    try:
        options.convert(options)
    except (OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for file in options.written:
        print(f"{file}  {file.stat().st_size:,} bytes")
    return 0


def _convert_folder(options: Options) -> None:
    _write(options, options.name, read_image_folder(options.source), training=True)


def _convert_csv(options: Options) -> None:
    images = read_csv_list(
        options.source,
        image=options.image,
        label=options.label,
        id=options.id,
        camera=options.camera,
        template=options.template,
        medium=options.medium,
        directory=options.directory,
    )
    _write(options, options.name, images, training=True)


def _convert_market1501(options: Options) -> None:
    market = market1501.read_market1501(options.source)
    _write(options, "train", market.train, training=True)
    _write(options, "queries", market.queries)
    _write(options, "gallery", market.gallery)
    _write_text(options, "market-1501.yaml", market1501.PROTOCOL)


def _convert_ijbc(options: Options) -> None:
    verification = ijbc.read_ijbc_verification(options.source)
    try:
        first, second = (
            ijbc.read_ijbc_identification(options.source, gallery=gallery)
            for gallery in ("G1", "G2")
        )
    except FileNotFoundError:
        # The community's form without the files of 1:N.
        sides = ("queries", "gallery")
        _write(options, "queries", verification.queries)
        _write(options, "gallery", verification.gallery)
    else:
        # A template of 1:1 is one of 1:N: no picture is written twice.
        sides = ("gallery-g", "probes")
        _write(options, "probes", first.queries)
        for gallery, images in (("g1", first.gallery), ("g2", second.gallery)):
            _write(options, f"gallery-{gallery}", images)
            protocol = ijbc.IDENTIFICATION_PROTOCOL.format(gallery=f"gallery-{gallery}")
            _write_text(options, f"ijb-c-identification-{gallery}.yaml", protocol)
    verification.write_pairs(options.output / "pairs.csv")
    options.written.append(options.output / "pairs.csv")
    protocol = ijbc.VERIFICATION_PROTOCOL.format(
        queries=f"{sides[0]}*.tfrecord", gallery=f"{sides[1]}*.tfrecord"
    )
    _write_text(options, "ijb-c-verification.yaml", protocol)


def _convert_imagenet(options: Options) -> None:
    for part in options.parts:
        images = imagenet.read_imagenet(options.source, part)
        _write(options, part, images, training=part == "train")


def _convert_places365(options: Options) -> None:
    for part in options.parts:
        images = places.read_places365(options.source, part)
        _write(options, part, images, training=part == "train")


def _convert_vggface2(options: Options) -> None:
    for part in options.parts:
        images = vggface2.read_vggface2(options.source, part, boxes=options.boxes)
        # Boxes are what the faces are cut out by; aligning is the user's choice.
        if options.boxes and not options.align:
            images = dataclasses.replace(images, landmarks=None)
        _write(options, part, images, training=part == "train")


def _write(
    options: Options, name: str, images: ImageList, *, training: bool = False
) -> None:
    from keras_bct.data.record_shards import write_shards

    parts = {name: images}
    if options.old_share is not None and training:
        old = first_share(images.labels.tolist(), options.old_share, seed=options.seed)
        parts[f"{name}-old"] = images.of_classes(old)
    for part, chosen in parts.items():
        options.written += write_shards(
            options.output,
            part,
            chosen,
            preparation=_preparation(options),
            shards=min(options.shards, len(chosen)),
            skip_unreadable=options.skip_unreadable,
        )


def _preparation(options: Options) -> Preparation | OwnSize | None:
    """Return the set's own preparation, changed as the command line says."""
    recipe: Preparation | None = options.preparation
    if options.as_is:
        if options.size is not None or options.grey:
            raise ValueError(
                "--as-is keeps the files' bytes, whatever their size and colours. "
                "Received: --size or --grey with it. Leave one of them out."
            )
        return None
    if options.size is not None:
        height, width = options.size
        if recipe is None:
            recipe = Preparation(height, width)
        shorter_side = recipe.shorter_side
        if shorter_side is not None:
            # The same share of the shorter side is shown.
            shorter_side = round(
                shorter_side * max(height, width) / max(recipe.height, recipe.width)
            )
        recipe = dataclasses.replace(
            recipe, height=height, width=width, shorter_side=shorter_side
        )
    if recipe is None:
        return OwnSize(grey=options.grey, encoding=options.encoding)
    return dataclasses.replace(recipe, grey=options.grey, encoding=options.encoding)


def _write_text(options: Options, name: str, text: str) -> None:
    (options.output / name).write_text(text, encoding="utf-8")
    options.written.append(options.output / name)


def _size(text: str) -> tuple[int, int]:
    height, _, width = text.partition("x")
    try:
        return int(height), int(width or height)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected HEIGHTxWIDTH, such as 112x112. Received: {text!r}"
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m keras_bct.data.convert",
        description="Write the TFRecords of a data set, and the protocols that it has.",
    )
    sets = parser.add_subparsers(required=True, metavar="SET")

    def add(
        name: str,
        convert: Callable[[Options], None],
        text: str,
        preparation: Preparation | None = None,
        parts: tuple[str, ...] = (),
    ) -> argparse.ArgumentParser:
        command = sets.add_parser(name, help=text, description=text)
        command.add_argument("source", type=pathlib.Path, help="the set, unpacked")
        command.add_argument(
            "output", type=pathlib.Path, help="folder of the TFRecords"
        )
        command.set_defaults(convert=convert, preparation=preparation)
        if parts:
            command.add_argument(
                "--parts",
                nargs="+",
                choices=parts,
                default=parts,
                help="default: %(default)s",
            )
        own = (
            "their own"
            if preparation is None
            else (f"{preparation.height}x{preparation.width}")
        )
        command.add_argument(
            "--size", type=_size, metavar="HxW", help=f"of the pictures; default: {own}"
        )
        command.add_argument(
            "--as-is", action="store_true", help="keep the files' bytes as they are"
        )
        command.add_argument("--grey", action="store_true", help="one channel")
        command.add_argument("--encoding", choices=("jpeg", "png"), default="jpeg")
        command.add_argument("--shards", type=int, default=1, help="files a part")
        command.add_argument(
            "--skip-unreadable",
            action="store_true",
            help="leave out pictures that cannot be decoded, and say which",
        )
        if name == "ijbc":
            command.set_defaults(old_share=None, seed=0)
            return command
        command.add_argument(
            "--old-share",
            type=float,
            metavar="SHARE",
            help="also write the training pictures of this share of the classes, for "
            "an old model",
        )
        command.add_argument(
            "--seed", type=int, default=0, help="of the choice of the old classes"
        )
        return command

    folder = add("folder", _convert_folder, "An image folder: CLASS/picture.jpg.")
    folder.add_argument("--name", default="train", help="of the files written")
    table = add("csv", _convert_csv, "A CSV file whose first line names the columns.")
    table.add_argument("--name", default="train", help="of the files written")
    table.add_argument("--image", default="image", help="column with the file")
    table.add_argument("--label", default="label", help="column with the class")
    for column in ("id", "camera", "template", "medium"):
        table.add_argument(f"--{column}", help=f"column with the {column}")
    table.add_argument(
        "--directory", type=pathlib.Path, help="where the pictures' paths start"
    )
    add(
        "market1501",
        _convert_market1501,
        "Market-1501, with its protocol.",
        market1501.PREPARATION,
    )
    add(
        "ijbc",
        _convert_ijbc,
        "IJB-C, with its protocols for 1:1 and for 1:N in both galleries.",
        ijbc.PREPARATION,
    )
    add(
        "imagenet",
        _convert_imagenet,
        "ImageNet-1k (ILSVRC 2012).",
        imagenet.PREPARATION,
        ("train", "val"),
    )
    add(
        "places365",
        _convert_places365,
        "Places365-Standard.",
        places.PREPARATION,
        ("train", "val"),
    )
    faces = add(
        "vggface2",
        _convert_vggface2,
        "VGGFace2.",
        vggface2.PREPARATION,
        ("train", "test"),
    )
    faces.add_argument(
        "--boxes", action="store_true", help="cut the faces out by bb_landmark"
    )
    faces.add_argument(
        "--align", action="store_true", help="with --boxes: align by the landmarks"
    )
    return parser


if __name__ == "__main__":
    sys.exit(run())

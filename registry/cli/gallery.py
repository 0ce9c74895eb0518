"""`registry gallery`."""

from __future__ import annotations

import argparse
from pathlib import Path

from keras_bct.counted import counted
from registry.cli.command import Command, open_registry
from registry.cli.output import print_json, table
from registry.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="such as kanji/gallery; all by default"
    )
    parser.add_argument(
        "--version", metavar="VERSION", help="the version that makes or made the rows"
    )
    adding = parser.add_mutually_exclusive_group()
    adding.add_argument(
        "--add-pictures",
        nargs="+",
        metavar="PICTURES",
        help="folders, files, lists (.csv) or TFRecords of pictures, or patterns of "
        "these; embeds those whose ids the gallery does not hold",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="with --add-pictures: store all components of a version that is wider or "
        "narrower than the gallery",
    )
    adding.add_argument(
        "--import-file",
        metavar="FILE",
        help="stored embeddings (.parquet, .arrow, .npz, .npy beside .csv, .tfrecord) "
        "with id, embedding, and where they are known label, camera and fingerprint",
    )
    parser.add_argument(
        "--columns",
        metavar="NAMES",
        help="with --import-file: what the file calls them, such as "
        "id=name,embedding=vector",
    )
    proof = parser.add_mutually_exclusive_group()
    proof.add_argument(
        "--pictures",
        nargs="+",
        metavar="PICTURES",
        help="with --import-file: pictures of some of the rows, by their ids; the "
        "version embeds a sample, which has to agree with the vectors",
    )
    proof.add_argument(
        "--unchecked",
        action="store_true",
        help="with --import-file: take the vectors on trust; shown wherever they count",
    )
    adding.add_argument(
        "--remove-ids",
        metavar="FILE",
        help="remove the rows whose ids stand in this file (UTF-8), one a line",
    )
    adding.add_argument(
        "--export-file",
        metavar="FILE",
        help="write all rows, or those of --version: .parquet, .arrow or .npz",
    )


def _run(args: argparse.Namespace) -> int:
    if args.whole and not args.add_pictures:
        raise UsageError("--whole says how to store what --add-pictures embeds.")
    if args.version and not (args.add_pictures or args.import_file or args.export_file):
        raise UsageError(
            "--version says which one makes the rows of --add-pictures, or made those "
            "of --import-file or --export-file."
        )
    if (args.pictures or args.unchecked) and not args.import_file:
        raise UsageError(
            "--pictures and --unchecked say how the vectors of --import-file are known "
            "to be the version's."
        )
    if args.columns is not None and not args.import_file:
        raise UsageError("--columns says what the file of --import-file calls them.")
    registry = open_registry(args)
    added = 0
    if args.add_pictures or args.import_file:
        from registry.galleries.picture_files import read_pictures

        if not args.name or not args.version:
            raise UsageError(
                "Adding rows needs NAME, the gallery, and --version, which embeds or "
                "embedded them."
            )
        version = registry.resolve(args.version)
        if args.import_file:
            added = registry.import_rows(
                args.name,
                Path(args.import_file),
                version,
                columns=_columns(args.columns),
                pictures=read_pictures(args.pictures) if args.pictures else None,
                unchecked=args.unchecked,
            )
        else:
            added = registry.add_pictures(
                args.name, read_pictures(args.add_pictures), version, whole=args.whole
            )
    removed = 0
    if args.remove_ids:
        if not args.name:
            raise UsageError("--remove-ids needs NAME, the gallery.")
        removed = registry.remove_rows(args.name, _lines(Path(args.remove_ids)))
    if args.export_file:
        if not args.name:
            raise UsageError("--export-file needs NAME, the gallery.")
        registry.export_rows(
            args.name,
            Path(args.export_file),
            registry.resolve(args.version) if args.version else None,
        )
    names = [args.name] if args.name else registry.galleries()
    found = {name: registry.gallery(name) for name in names}
    if args.json:
        print_json(
            [
                {
                    "name": name,
                    "generation": gallery.generation,
                    "embedding_size": gallery.embedding_size,
                    "rows": gallery.rows,
                    "fingerprints": gallery.fingerprints,
                    "sizes": gallery.sizes,
                    "unchecked": gallery.unchecked,
                }
                for name, gallery in found.items()
            ]
        )
        return 0
    if added:
        print(f"{counted(added, 'row')} added")
    if removed:
        print(f"{counted(removed, 'row')} removed")
        for index in registry.indices():
            if index.gallery == args.name:
                print(f"  ! {index} holds rows of before; publish it anew")
    rows = []
    for name, gallery in found.items():
        made_by = []
        for fingerprint, count in gallery.fingerprints.items():
            maker = registry.version_with(fingerprint)
            size = gallery.sizes[fingerprint]
            other = size != gallery.embedding_size
            unchecked = gallery.unchecked.get(fingerprint, 0)
            made_by.append(
                f"{count:,} by {maker or fingerprint[:12]}"
                + (f" ({counted(size, 'component')})" if other else "")
                + (f" ({unchecked:,} unchecked)" if unchecked else "")
            )
        rows.append(
            [
                name,
                str(gallery.generation),
                str(gallery.embedding_size),
                f"{gallery.rows:,}",
                ", ".join(made_by) or "-",
            ]
        )
    print(table(["gallery", "generation", "size", "rows", "embedded"], rows))
    return 0


def _columns(text: str | None) -> dict[str, str]:
    """The names of `--columns id=name,embedding=vector`, by what they are."""
    named: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        column, equals, name = part.partition("=")
        if not (column and equals and name) or column in named:
            raise UsageError(
                "--columns should be such as id=name,embedding=vector, each once. "
                f"Received: {text!r}."
            )
        named[column] = name
    return named


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--remove-ids {path} cannot be read: {error}.") from error
    # Python's own idea of a line ends at U+2028 and others, which an id may have.
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line]


COMMAND = Command(
    name="gallery",
    summary="Show galleries; add, import, remove or export their rows.",
    details="A gallery that is new is made. Rows that it holds are never changed.",
    example="registry gallery kanji --import-file old.parquet --version glyphs/1 "
    "--pictures some.tfrecord",
    add_arguments=_add_arguments,
    run=_run,
)

"""The command `registry`."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence

from absl import app, flags

from keras_bct.command_line import CommandParser, escape_what_cannot_be_printed
from registry.cli import (
    adapter,
    delete,
    evaluate,
    gallery,
    gc,
    index,
    init,
    lineage,
    list_versions,
    promote,
    register,
    rollback,
    search,
    serving_config,
    show,
    verify,
)
from registry.cli.command import Command, add_globals
from registry.cli.output import error_document, print_error, print_json
from registry.errors import RegistryError, UsageError

COMMANDS: tuple[Command, ...] = (
    init.COMMAND,
    register.COMMAND,
    list_versions.COMMAND,
    show.COMMAND,
    evaluate.COMMAND,
    promote.COMMAND,
    rollback.COMMAND,
    lineage.COMMAND,
    verify.COMMAND,
    adapter.COMMAND,
    gallery.COMMAND,
    index.COMMAND,
    search.COMMAND,
    serving_config.COMMAND,
    delete.COMMAND,
    gc.COMMAND,
)

_DESCRIPTION = """\
Versions of embedding models, with proof that each works with its predecessors.

Names: glyphs/3 is a version, glyphs@production an alias, glyphs#2 a search index,
glyphs:1 an adapter.

Exit codes: 0 done, 2 wrong usage, 3 refused by the gate, 4 integrity failure,
1 anything else. `registry help COMMAND` shows more of a command.
"""


def build_parser() -> CommandParser:
    """The parser of all commands."""
    parser = CommandParser(prog="registry", description=_DESCRIPTION)
    parser.add_version()
    add_globals(parser, default=True)
    _add_commands(parser, COMMANDS)
    return parser


def _add_commands(parser: CommandParser, commands: Sequence[Command]) -> None:
    added = parser.add_subparsers(metavar="COMMAND")
    for command in commands:
        sub = added.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary}\n\n{command.details}".rstrip(),
            epilog=f"example:\n  {command.example}",
        )
        if command.add_arguments is not None:
            command.add_arguments(sub)
        add_globals(sub, default=False)
        if command.subcommands:
            _add_commands(sub, command.subcommands)
        else:
            sub.set_defaults(run=command.run)


def main(args: argparse.Namespace) -> int:
    """Runs one command; returns its exit code."""
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        code = run(args)
        sys.stdout.flush()
        return code
    except RegistryError as error:
        print_error(args, error)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read has had enough, as `head` does; nothing is left to say, and
        # Python would still try to at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UnicodeEncodeError as error:
        # An argument in another encoding; the transaction that it was for is undone.
        print_error(args, UsageError(f"Expected UTF-8. Received: {error.object!r}."))
        return UsageError.exit_code
    except OSError as error:
        print_error(args, RegistryError(str(error)))
        return RegistryError.exit_code
    except KeyboardInterrupt:
        print_error(args, RegistryError("stopped"))
        return RegistryError.exit_code


def run(argv: Sequence[str] | None = None) -> None:
    """Entry point of the console command; leaves by `sys.exit`."""
    # Other libraries' chatter would bury what a command says.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    warnings.filterwarnings("ignore", category=FutureWarning, module="google")
    escape_what_cannot_be_printed()
    app.run(
        main,
        argv=None if argv is None else ["registry", *argv],
        flags_parser=_parse,
    )


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    # absl wants its own flags parsed too; none of them is taken from the command line.
    flags.FLAGS(argv[:1])
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            arguments: argparse.Namespace = build_parser().parse_args(argv[1:])
    except SystemExit as left:
        sys.stderr.write(said.getvalue())
        if left.code and "--json" in argv:
            message = said.getvalue().rpartition("error: ")[2].strip()
            print_json(error_document(UsageError(message)))
        raise
    return arguments

"""The command `keras-bct`, which `python -m keras_bct` is too."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from keras_bct.cli import evaluate, train
from keras_bct.command_line import CommandParser, escape_what_cannot_be_printed

EXIT_DONE, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: Without the program's name; None: those of the process.

    Returns:
        0 done, 2 wrong usage or input, 1 anything else.
    """
    escape_what_cannot_be_printed()
    parser = CommandParser(
        prog="keras-bct",
        description="Backward-compatible embeddings.",
        epilog="`keras-bct help COMMAND` shows more of a command.",
    )
    parser.add_version()
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    evaluate.add_parser(commands)
    train.add_parser(commands)
    parsed = parser.parse_args(arguments)
    try:
        code = int(parsed.run(parsed))
        sys.stdout.flush()
        return code
    except (ValueError, FileNotFoundError, FileExistsError, IsADirectoryError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read has had enough, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())

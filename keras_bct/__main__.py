"""The command `python -m keras_bct`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from keras_bct.cli import evaluate, train

EXIT_DONE, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: Without the program's name; None: those of the process.

    Returns:
        0 done, 2 wrong usage or input, 1 anything else.
    """
    parser = argparse.ArgumentParser(
        prog="python -m keras_bct", description="Backward-compatible embeddings."
    )
    commands = parser.add_subparsers(title="commands", required=True)
    evaluate.add_parser(commands)
    train.add_parser(commands)
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except (ValueError, FileNotFoundError, FileExistsError, IsADirectoryError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())

"""What the project's command lines have in common."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from keras_bct.did_you_mean import did_you_mean


class CommandParser(argparse.ArgumentParser):
    """A parser of commands that answers as people expect.

    It knows `help`, `help COMMAND`, `-V` and `--version`; without a command it shows
    its help. What a command does not know is refused with the usage of that command,
    and with the name that is like it.
    """

    def __init__(self, **settings: Any) -> None:
        """Takes the settings of `argparse.ArgumentParser`."""
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**settings)
        self.set_defaults(parser=self)

    def add_version(self) -> None:
        """Adds `-V` and `--version`, for a program's own parser."""
        self.add_argument(
            "-V", "--version", action=_Version, help="show the version and exit"
        )

    def parse_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> argparse.Namespace:
        """Reads a command line; leaves by `SystemExit` where it is none.

        Without a command the help is shown, and `run` is not set.
        """
        words = list(sys.argv[1:] if args is None else args)
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        parsed, unknown = self.parse_known_args(words, namespace)
        asked: CommandParser = parsed.parser
        del parsed.parser
        if unknown:
            asked._refuse(unknown, [*self._options(), *asked._options()])
        if not hasattr(parsed, "run"):
            asked.print_help()
            asked.exit()
        return parsed

    def _options(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]

    def _refuse(self, unknown: Sequence[str], options: Sequence[str]) -> NoReturn:
        first = unknown[0].partition("=")[0]
        advice = did_you_mean(first, options) if first.startswith("-") else ""
        for action in self._get_positional_actions():
            place = str(action.metavar or action.dest)
            if first == f"--{place.lower()}":
                advice = f" {place} stands by itself, without {first}."
        self.error(f"unrecognized arguments: {' '.join(unknown)}.{advice}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(
            action,
            f"expected one of {', '.join(known)}. Received: {str(value)!r}."
            f"{did_you_mean(value, known)}",
        )


class _Version(argparse.Action):
    """Shows the version of this package, looked up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        import importlib.metadata

        try:
            version = importlib.metadata.version("keras-bct")
        except importlib.metadata.PackageNotFoundError:
            version = "(not installed: run from its source)"
        print(f"{parser.prog} of keras-bct {version}")
        parser.exit()


def escape_what_cannot_be_printed() -> None:
    r"""Lets standard output show as `\u5b57` what its encoding does not have.

    Standard error does so by itself.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")

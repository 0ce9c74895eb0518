"""Runs the command line: `python -m registry`."""

from registry.cli.main import run

if __name__ == "__main__":
    run()

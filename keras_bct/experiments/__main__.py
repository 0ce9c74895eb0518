"""Runs `keras_bct.experiments.command_line`."""

import sys

from keras_bct.experiments.command_line import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

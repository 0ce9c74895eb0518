"""The command line of keras_bct, one file a command."""

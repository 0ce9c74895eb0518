"""The command `registry`; one file a command."""

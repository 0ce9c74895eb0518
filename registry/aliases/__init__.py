"""Aliases: names that move from version to version, and what lets them move."""

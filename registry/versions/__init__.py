"""Versions: SavedModels with a number, registered, found and checked."""

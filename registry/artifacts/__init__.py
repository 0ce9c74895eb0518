"""Files: where they lie, how they get there whole, and whether they still are."""

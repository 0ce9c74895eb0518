"""A TFX pipeline that trains, gates, promotes and indexes an embedding model."""

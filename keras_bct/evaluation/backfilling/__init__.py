"""What a gallery is worth while its embeddings are replaced."""

"""The distances that embeddings are compared by, in every room and in the registry."""

DISTANCES = ("cosine", "l2", "inner_product")

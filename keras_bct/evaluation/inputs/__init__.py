"""What is measured: sets of embeddings, the protocol, and who is whose mate."""

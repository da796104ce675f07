"""The relatives: Informer, Autoformer, FEDformer, iTransformer, TimeXer and DUET, on shared embeddings, layers and training."""

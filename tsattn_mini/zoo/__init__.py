"""The relatives on shared layers and training: Informer, Autoformer, FEDformer, iTransformer, TimeXer, DUET."""

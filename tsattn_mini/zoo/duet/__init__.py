"""DUET: each variable's window goes to a few of several linear extractors, and variables look at like variables.

Read `router`, `extractor`, `channels`, `forecaster`, in this order. Source: X. Qiu et al., "DUET: Dual Clustering
Enhanced Multivariate Time Series Forecasting" (KDD 2025, arXiv 2412.10859). Left out: dropout.
"""

from tsattn_mini.zoo.duet.forecaster import DUET, balanced_error

__all__ = ["DUET", "balanced_error"]

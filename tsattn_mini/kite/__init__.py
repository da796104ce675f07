"""KITE: forecasts by flow matching, conditioned on other series through a statistical prior.

Read `prior`, `conditioning`, `source`, `flow`, `network`, `forecaster`, in this order.
"""

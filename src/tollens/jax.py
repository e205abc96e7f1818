"""Audit private training with JAX while it trains."""

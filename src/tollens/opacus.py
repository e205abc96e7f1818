"""Audit private training with Opacus while it trains."""

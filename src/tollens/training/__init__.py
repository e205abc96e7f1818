"""Audits of private training: what a step reveals, and whether its pieces are what they say."""

"""Audits of scores of canaries that are already there."""

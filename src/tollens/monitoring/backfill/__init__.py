"""Backfill: a walk over the commits of a repository, one step each, to the one that broke it."""

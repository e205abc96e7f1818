"""Proofs that a claim is false, found in the text of a program and confirmed by the checker."""

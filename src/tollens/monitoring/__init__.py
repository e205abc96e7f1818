"""The monitor: a claim watched while the mechanism changes, under one false-alarm probability."""

"""Benchmarks and calibrations, run by `make bench` and `make calibrate`."""

import os

# the processes share the cores: threads of theirs would only wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

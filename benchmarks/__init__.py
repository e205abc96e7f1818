"""Benchmarks and calibrations, run by `make bench` and `make calibrate`."""

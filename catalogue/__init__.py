"""Real releases of libraries, what they promise, and what tollens found.

`environments.toml` names the releases, `mechanisms/` calls them, `entries/` says what is claimed of
them, and `results/` keeps what was found. Run it as `python -m catalogue`.
"""

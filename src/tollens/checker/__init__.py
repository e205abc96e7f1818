"""The independent checker of certificates: standard library only, exact arithmetic, no floats."""

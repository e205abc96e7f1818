"""`python -m tollens`."""

from tollens.cli import main

if __name__ == "__main__":
    main(prog_name="tollens")

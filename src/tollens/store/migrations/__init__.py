"""How a database came to its schema. `env.py` is run by Alembic, not imported."""

"""Alembic versions of store/tables.py, run by store/migrate.py."""

"""Runs the versions on the connection that store/migrate.py hands over; knows store/tables.py and nothing else of ours.

The caller owns the lock and the transaction.
"""

from alembic import context

from store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=connection.dialect.name == "sqlite")
with context.begin_transaction():
    context.run_migrations()

"""Persistence: the same schema on SQLite and PostgreSQL."""

"""Readers of recorded debugging runs: one module a format, pure functions from bytes to records."""

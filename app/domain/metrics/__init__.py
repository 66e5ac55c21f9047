"""Metrics: pure functions from counts to small frozen results. Undefined is a named status, never NaN or 0."""

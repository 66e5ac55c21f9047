"""Bugs as things of their own: what kinds there are. Pure."""

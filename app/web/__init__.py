"""The web product: pages rendered on the server, and a small JSON API over the same services."""

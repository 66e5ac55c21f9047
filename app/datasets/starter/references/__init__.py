"""The references of the starter problems, one module a problem."""

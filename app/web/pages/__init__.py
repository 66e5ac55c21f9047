"""Routes that answer with HTML, one module a page."""

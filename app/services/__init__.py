"""One use case a module. Services open their own sessions and return what must be announced after the commit."""

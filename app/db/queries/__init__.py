"""Reads behind the pages, one module a page. Lists never load transcripts or definitions."""

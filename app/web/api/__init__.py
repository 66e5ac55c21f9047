"""The JSON API: thin routes over the same queries and services as the pages."""

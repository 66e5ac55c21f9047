"""Models: endpoints that are asked over HTTP, scripts for tests, and a program search that needs no key."""

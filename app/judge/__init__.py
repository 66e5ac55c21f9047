"""From tests and a program to a verdict: one module a test style, comparison apart. Never trusts the candidate."""

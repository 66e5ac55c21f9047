"""Readers of problem-set files: one module a format, pure functions from bytes to `ProblemSet`.

`registry` names the formats. Nothing read here is ever executed: code is analysed as a syntax tree.
"""

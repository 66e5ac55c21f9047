"""The examples in the documentation of the domain are true."""

import doctest
import importlib
import pkgutil

import pytest

import app.domain

MODULES = [found.name for found in pkgutil.walk_packages(app.domain.__path__, "app.domain.")]


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [example for name in MODULES for example in finder.find(importlib.import_module(name))]
    assert sum(len(example.examples) for example in found) >= 8


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0

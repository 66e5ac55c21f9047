"""Trees of programs, from many threads."""

import ast
import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain import syntax


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


class Collected:
    """Runs Python code, in which another thread may take over, when the collector finds it: in the midst of a tree."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(300):
            pass


@pytest.mark.usefixtures("hurried")
def test_threads_may_parse_at_once() -> None:
    # Without taking turns, CPython 3.11 fails in about one of 400 of these.
    source = Path(ast.__file__).read_text()[:20_000].rpartition("\ndef ")[0]
    failed: list[BaseException] = []

    def work() -> None:
        for _ in range(60):
            for _ in range(50):
                Collected()
            try:
                syntax.parse(source)
            except SystemError as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert failed == []


def test_programs_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        syntax.parse("x = '\\d'\n")
        with pytest.raises((SyntaxError, DeprecationWarning)):
            ast.parse("x = '\\d'\n")

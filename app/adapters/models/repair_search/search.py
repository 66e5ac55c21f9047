"""The baseline itself: one edited program a request."""

import ast
import time
from collections.abc import Iterator

from app.adapters.models.repair_search.expression_edits import EXPRESSION_EDITS
from app.adapters.models.repair_search.localisation import localise
from app.adapters.models.repair_search.ranking import rank
from app.adapters.models.repair_search.source import Edit, Source
from app.adapters.models.repair_search.statement_edits import STATEMENT_EDITS
from app.domain.errors import ModelRejected, ModelUnavailable, SandboxError
from app.domain.ports import ModelReply, ModelRequest, Sandbox
from app.domain.syntax import parse

_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` raises for text that is no program: bad syntax, NUL or a surrogate, nesting too deep."""


class RepairSearch:
    """A model that repairs a given Python program by trying single small edits of it, likeliest first.

    It reads no prose: it runs the disclosed cases on the given program once a request, ranks its edits and replies with
    the first whose syntax tree is new in this trajectory. It never runs its candidates, so what it gets from an attempt
    is the same as what any model gets: that the program was wrong. The same request gets the same reply, and no tokens
    are used.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def complete(self, request: ModelRequest) -> ModelReply:
        """The next candidate in a fenced block, or a sentence without code when there is none left.

        Raises ModelRejected without a given program of one file, and ModelUnavailable (nothing billed) where the
        sandbox fails.
        """
        started = time.perf_counter()
        text = self._answer(request)
        return ModelReply(
            text=text,
            prompt_tokens=0,
            completion_tokens=0,
            truncated=False,
            latency_ms=(time.perf_counter() - started) * 1000,
            finish_reason="stop",
            model="repair-search",
        )

    def _answer(self, request: ModelRequest) -> str:
        task = request.task
        if task.start is None:
            raise ModelRejected("repair-search repairs a given buggy program: choose the protocol that starts from one")
        if len(task.start.files) != 1:
            raise ModelRejected("repair-search repairs programs of one file")
        try:
            source = Source(task.start.source)
        except _UNREADABLE as error:
            return f"I can only edit a program that Python can parse, and this one fails with {type(error).__name__}."
        try:
            spectrum = localise(self._sandbox, task.start, task)
        except SandboxError as error:
            raise ModelUnavailable(f"repair-search could not run the given program: {error}", billed=False) from error
        tried = {
            _tree(text)
            for program in (task.start, *(one.program for one in task.trials if one.program))
            for text in program.files.values()
        }
        for edit in rank(_edits(source), spectrum, request.seed):
            candidate = source.edited(edit)
            tree = _tree(candidate)
            if tree is not None and tree not in tried:
                return f"Line {edit.lines[0]}: {_shown(source, edit)}.\n\n{_fenced(candidate)}"
        return "None of my single edits is left to try."


def _edits(source: Source) -> Iterator[Edit]:
    for node in source.nodes():
        for family in (*EXPRESSION_EDITS, *STATEMENT_EDITS):
            yield from family(source, node)


def _tree(text: str) -> str | None:
    """The program's syntax tree as text, without positions; None where it is no program."""
    try:
        return ast.dump(parse(text))
    except _UNREADABLE:
        return None


def _shown(source: Source, edit: Edit) -> str:
    start, end = edit.span
    old, new = (" ".join(text.split()) for text in (source.bytes[start:end].decode(), edit.replacement))
    return f"`{old}` becomes `{new}`" if old != new else f"`{old}` moves to another block"


def _fenced(program: str) -> str:
    """The program in a fence longer than any run of backticks in it."""
    fence = "```"
    while fence in program:
        fence += "`"
    return f"{fence}python\n{program}{'' if program.endswith(chr(10)) else chr(10)}{fence}\n"

"""Test code that calls the candidate itself, across a channel to the candidate's process or, weakly, beside it.

Every assert becomes a counted check: a false one is recorded and the next ones still run. The report is the number of
checks, never the mere absence of an exception.
"""

import ast
import builtins
import json
import socket
from typing import Any

from app.adapters.sandbox.runner import calls, frames, program
from app.domain.codec import CodecError, decode, encode, readable

_MAX_FAILURES = 100
_MAX_TEXT = 600
_CHECK = "__halflife_check__"


class _NotCrossing(BaseException):
    """A value or a name is needed that only the candidate's own process has."""


class _CandidateGone(BaseException):
    """The candidate's process ended; its supervisor knows why."""


class _Checks:
    """Counts checks and remembers the first failure."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.failures: list[str] = []
        self.reason: str | None = None
        self.error: str | None = None
        self.completed = False
        self.last_call = ""

    def fail(self, check: str, error: BaseException) -> None:
        self.failed += 1
        if len(self.failures) < _MAX_FAILURES:
            self.failures.append(check)
        if self.reason is not None:
            return
        raised = getattr(error, "halflife_raised", None)
        if isinstance(raised, tuple):
            self.reason, detail = raised
        else:
            self.reason = "assertion_failed"
            message = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            detail = "\n".join(part for part in (message[:_MAX_TEXT], self.last_call) if part)
        self.error = "\n".join(part for part in (check, detail) if part)

    def report(self, not_crossing: str | None) -> str:
        return json.dumps(
            {
                "passed": self.passed,
                "failed": self.failed,
                "failures": self.failures,
                "reason": self.reason,
                "error": self.error,
                "completed": self.completed,
                "not_crossing": not_crossing,
            }
        )


class _Check:
    """The `with` block an assert is wrapped in."""

    def __init__(self, checks: _Checks, text: str, *, within_try: bool) -> None:
        self._checks = checks
        self._text = text
        self._within_try = within_try

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is None:
            self._checks.passed += 1
            return False
        if isinstance(error, NameError) and not hasattr(error, "halflife_raised"):
            raise _NotCrossing(str(error)) from None
        if self._within_try or not isinstance(error, Exception):
            return False
        self._checks.fail(self._text, error)
        return True


class _CountAsserts(ast.NodeTransformer):
    """Wraps every assert in a counted check."""

    def __init__(self) -> None:
        self._tries = 0

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self._tries += 1
        node.body = [self.visit(one) for one in node.body]
        self._tries -= 1
        node.handlers = [self.visit(one) for one in node.handlers]
        node.orelse = [self.visit(one) for one in node.orelse]
        node.finalbody = [self.visit(one) for one in node.finalbody]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        text = ast.unparse(node)
        call = ast.Call(
            ast.Name(_CHECK, ast.Load()),
            [ast.Constant(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"), ast.Constant(self._tries > 0)],
            [],
        )
        return ast.copy_location(ast.With([ast.withitem(call, None)], [node]), node)


def run_across(entry_point: str, source: str, control: socket.socket, peer: socket.socket) -> None:
    """Run the tests with calls crossing over `peer`; reports `T` on `control`."""
    control.sendall(frames.pack("C"))
    control.sendall(frames.pack("R"))
    checks = _Checks()
    candidate = _Proxy(peer, checks, entry_point)
    _run_tests(source, {}, entry_point, candidate, checks, control)


def run_beside(request: dict[str, Any], source: str, control: socket.socket) -> None:
    """Run program and tests in one process. What it reports is only as good as the program is honest."""
    loaded = calls.load(request, control)
    if loaded is None:
        return
    namespace, sources = loaded
    checks = _Checks()
    entry_point = request["entry_point"]
    try:
        function = program.resolve(namespace, entry_point)
    except Exception as error:  # noqa: BLE001 - the program's constructor may run here
        raised = program.describe(error, sources)
        checks.fail("", _remote(raised.name, raised.base, raised.detail, raised.allocation))
        control.sendall(frames.pack("T", checks.report(None)))
        return

    def candidate(*arguments: Any, **named: Any) -> Any:
        try:
            result = function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - told to the tests as what it is
            raised = program.describe(error, sources)
            raise _remote(raised.name, raised.base, raised.detail, raised.allocation) from None
        if program.decides_equality(result, sources):
            raise _remote("unencodable_value", "TypeError", "the result decides itself what it equals", False)
        return result

    _run_tests(source, dict(namespace), entry_point, candidate, checks, control)


def _run_tests(
    source: str,
    namespace: dict[str, Any],
    entry_point: str,
    candidate: Any,
    checks: _Checks,
    control: socket.socket,
) -> None:
    namespace["__name__"] = "tests"
    namespace[_CHECK] = lambda text, within_try: _Check(checks, text, within_try=within_try)
    # Some tests call the function by its own name; one problem's function is itself called check.
    named = {entry_point: candidate} if "." not in entry_point and entry_point != "check" else {}
    not_crossing: str | None = None
    try:
        tree = ast.fix_missing_locations(_CountAsserts().visit(ast.parse(source)))
        namespace |= named
        exec(compile(tree, "tests.py", "exec"), namespace)  # noqa: S102 - running the tests is the task
        namespace |= named
        namespace["check"](candidate)
        checks.completed = True
    except _NotCrossing as reason:
        not_crossing = str(reason)
    except _CandidateGone:
        pass
    except NameError as error:
        if not hasattr(error, "halflife_raised"):
            not_crossing = str(error)
        else:
            checks.fail("", error)
    except Exception as error:  # noqa: BLE001 - whatever ended the tests is their result
        checks.fail("", error)
    control.sendall(frames.pack("T", checks.report(not_crossing)))


class _Proxy:
    """Stands for the candidate within the tests."""

    def __init__(self, peer: socket.socket, checks: _Checks, name: str) -> None:
        self._peer = peer
        self._checks = checks
        self.__name__ = name
        self._number = 0

    def __call__(self, *arguments: Any) -> Any:
        try:
            sent = encode(arguments)
        except CodecError as error:
            raise _NotCrossing(str(error)) from None
        self._number += 1
        number = str(self._number)
        try:
            self._peer.sendall(frames.pack("?", number, sent))
            kind, fields = frames.unpack(frames.read_frame(self._peer.recv, frames.MAX_MESSAGE))
        except (ConnectionError, frames.ChannelClosed, frames.FrameError) as error:
            raise _CandidateGone from error
        shown = readable(sent, _MAX_TEXT // 2)
        call = self.__name__ + (shown[:-2] + ")" if shown.endswith(",)") else shown)
        try:
            return self._take(call, number, kind, fields)
        except CodecError as error:
            raise _CandidateGone from error

    def _take(self, call: str, number: str, kind: str, fields: list[str]) -> Any:
        if kind == "V" and len(fields) == 2 and fields[0] == number:
            result = decode(fields[1])
            self._checks.last_call = f"{call} returned {readable(fields[1], _MAX_TEXT // 2)}"
            return result
        if kind == "E" and len(fields) == 5 and fields[0] == number:
            _, name, base, detail, allocation = fields
            self._checks.last_call = f"{call} raised {name}"
            raise _remote(name, base, f"{call} raised {detail}", allocation == "1")
        if kind == "U" and len(fields) == 3 and fields[0] == number:
            _, detail, decides_equality = fields
            if decides_equality != "1":
                raise _NotCrossing(detail)
            raise _remote("unencodable_value", "TypeError", f"{call}: {detail}", False)
        raise _CandidateGone


def _remote(name: str, base: str, detail: str, allocation: bool) -> Exception:
    """The candidate's exception as one of ours, by the name of its nearest built-in type."""
    kind = getattr(builtins, base, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError  # SystemExit and its like must not end the tests' process
    try:
        error = kind(detail)
    except TypeError:
        error = ValueError(detail)  # UnicodeError's children want more arguments
    error.halflife_raised = ("memory" if allocation else name, detail)  # type: ignore[attr-defined]
    return error

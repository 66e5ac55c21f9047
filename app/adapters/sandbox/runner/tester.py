"""Tests that call the candidate themselves, across a channel to the candidate's process or, weakly, beside it.

In plain test code every assert becomes a counted check: a false one is recorded and the next ones still run. In a suite
(see `suites`) every test is one. The report is the number of checks, never the mere absence of an exception.
"""

import ast
import socket
import sys
from typing import Any

from app.adapters.sandbox.runner import calls, frames, program, suites
from app.adapters.sandbox.runner.checks import MAX_TEXT, CandidateGone, Checks, NotCrossing, remote_exception
from app.adapters.sandbox.runner.remote import Line, Proxy, install

_CHECK = "__halflife_check__"


class _Check:
    """The `with` block an assert is wrapped in."""

    def __init__(self, checks: Checks, text: str, *, within_try: bool) -> None:
        self._checks = checks
        self._text = text
        self._within_try = within_try

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is None:
            self._checks.succeed()
            return False
        if isinstance(error, NameError) and not hasattr(error, "halflife_raised"):
            raise self._checks.stop_not_crossing(str(error)) from None
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
            [ast.Constant(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"), ast.Constant(self._tries > 0)],
            [],
        )
        return ast.copy_location(ast.With([ast.withitem(call, None)], [node]), node)


def run_across(tests: dict[str, Any], control: socket.socket, peer: socket.socket) -> None:
    """Run the tests with calls crossing over `peer`; reports `T` on `control`.

    `tests` has either `source` and `entry_point`, or what `suites.run` wants and `modules`, the candidate's by name.
    """
    control.sendall(frames.pack("C"))
    control.sendall(frames.pack("R"))
    checks = Checks()
    line = Line(peer, checks)
    if "source" in tests:
        entry_point = tests["entry_point"]
        _run_code(tests["source"], {}, entry_point, Proxy(line, "", entry_point), checks)
    else:
        install(line, tests["modules"], tests["module"])
        _run_suite(tests, checks, {}, control)
    control.sendall(frames.pack("T", checks.report()))


def run_beside(request: dict[str, Any], tests: dict[str, Any], control: socket.socket) -> None:
    """Run program and tests in one process. What it reports is only as good as the program is honest."""
    loaded = calls.load(request, control)
    if loaded is None:
        return
    namespace, sources = loaded
    checks = Checks()
    if "source" in tests:
        _run_code_beside(tests, namespace, sources, checks)
    else:
        sys.modules[tests["module"]] = sys.modules[program.MODULE]
        _run_suite(tests, checks, sources, control)
    control.sendall(frames.pack("T", checks.report()))


def _run_suite(tests: dict[str, Any], checks: Checks, sources: dict[str, str], control: socket.socket) -> None:
    try:
        suites.run(tests, checks, sources)
    except suites.NoFramework as error:
        control.sendall(frames.pack("S", str(error)))


def _run_code_beside(tests: dict[str, Any], namespace: dict[str, Any], sources: dict[str, str], checks: Checks) -> None:
    entry_point = tests["entry_point"]
    try:
        function = program.resolve(namespace, entry_point)
    except Exception as error:  # noqa: BLE001 - the program's constructor may run here
        raised = program.describe(error, sources)
        checks.fail("", remote_exception(raised.name, raised.base, raised.detail, raised.allocation))
        return

    def candidate(*arguments: Any, **named: Any) -> Any:
        try:
            result = function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - told to the tests as what it is
            raised = program.describe(error, sources)
            raise remote_exception(raised.name, raised.base, raised.detail, raised.allocation) from None
        if program.decides_equality(result, sources):
            raise remote_exception("unencodable_value", "TypeError", "the result decides itself what it equals", False)
        return result

    _run_code(tests["source"], dict(namespace), entry_point, candidate, checks)


def _run_code(source: str, namespace: dict[str, Any], entry_point: str, candidate: Any, checks: Checks) -> None:
    namespace["__name__"] = "tests"
    namespace[_CHECK] = lambda text, within_try: _Check(checks, text, within_try=within_try)
    # Some tests call the function by its own name; one problem's function is itself called check.
    named = {entry_point: candidate} if "." not in entry_point and entry_point != "check" else {}
    try:
        tree = ast.fix_missing_locations(_CountAsserts().visit(ast.parse(source)))
        namespace |= named
        exec(compile(tree, "tests.py", "exec"), namespace)  # noqa: S102 - running the tests is the task
        namespace |= named
        namespace["check"](candidate)
        checks.completed = True
    except (NotCrossing, CandidateGone):
        pass
    except NameError as error:
        if not hasattr(error, "halflife_raised"):
            checks.stop_not_crossing(str(error))
        else:
            checks.fail("", error)
    except Exception as error:  # noqa: BLE001 - whatever ended the tests is their result
        checks.fail("", error)

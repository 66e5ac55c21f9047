"""Running a unittest or pytest suite and counting its tests. Where the suite is trusted, so is the count."""

import os
import sys
from typing import Any

from app.adapters.sandbox.runner import program
from app.adapters.sandbox.runner.checks import Checks

_PATTERN = "*test*.py"
_MAX_MESSAGE = 600


class NoFramework(Exception):
    """The sandbox does not have what the suite needs."""


class _Results:
    """Passes results on to `checks`. `sources` are the program's where it runs in this process."""

    def __init__(self, checks: Checks, sources: dict[str, str]) -> None:
        self._checks = checks
        self._sources = sources
        self.passed = checks.succeed

    def failed(self, test: str, error: BaseException, message: str) -> None:
        if not hasattr(error, "halflife_raised") and self._through_program(error):
            raised = program.describe(error, self._sources)
            error.halflife_raised = ("memory" if raised.allocation else raised.name, raised.detail)  # type: ignore[attr-defined]
        self._checks.fail(test, error, message[:_MAX_MESSAGE])

    def _through_program(self, error: BaseException) -> bool:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self._sources:
                return True
            trace = trace.tb_next
        return False


def run(suite: dict[str, Any], checks: Checks, sources: dict[str, str]) -> None:
    """Run the suite's `files` with its `framework`; every test is a check, and a skipped one is none.

    Raises NoFramework.
    """
    root = os.path.join(os.getcwd(), "suite")
    os.mkdir(root, 0o700)
    program.place_files(suite["files"], root)
    sys.path.insert(0, root)
    results = _Results(checks, sources)
    (_run_unittest if suite["framework"] == "unittest" else _run_pytest)(root, results)
    checks.completed = not (checks.gone or checks.not_crossing)


def _run_unittest(root: str, results: _Results) -> None:
    import unittest

    def failed(test: unittest.TestCase, err: Any) -> None:
        results.failed(str(test), err[1], f"{type(err[1]).__name__}: {err[1]}")

    class Result(unittest.TestResult):
        """Counts each test."""

        def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest names it
            results.passed()

        def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest names it
            results.passed()

        def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest names it
            results.failed(str(test), AssertionError(), "it was expected to fail")

        def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest names it
            failed(test, err)

        def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest names it
            failed(test, err)

        def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802 - unittest names it
            if err is not None:
                failed(subtest, err)

    unittest.TestLoader().discover(root, pattern=_PATTERN, top_level_dir=root).run(Result())


def _run_pytest(root: str, results: _Results) -> None:
    sys.path.append(program.TEST_PACKAGES)
    try:
        import pytest
    except ImportError as error:
        raise NoFramework(f"pytest cannot be used in this sandbox: {error}") from error

    class Counter:
        """Counts each test, as a plugin."""

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" and report.passed:
                results.passed()

        def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
            results.failed(node.nodeid, call.excinfo.value, report.longreprtext[-_MAX_MESSAGE:])

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    unwanted = [word for name in ("cacheprovider", "terminal", "faulthandler") for word in ("-p", f"no:{name}")]
    options = ["--rootdir", root, "--import-mode=importlib", "-o", f"python_files={_PATTERN}", *unwanted]
    pytest.main([*options, root], plugins=[Counter()])

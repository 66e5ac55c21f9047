"""Counting checks, and what the candidate's answers mean to the tests."""

import builtins
import json
from typing import NoReturn

MAX_TEXT = 600
"""Characters of a check or a message that are kept."""
_MAX_FAILURES = 100


class NotCrossing(BaseException):
    """A value or a name is needed that only the candidate's own process has."""


class CandidateGone(BaseException):
    """The candidate's process ended; its supervisor knows why."""


class Checks:
    """Counts checks and remembers the first failure.

    Once the tests cannot go on, nothing more counts: a framework that catches everything would take it for failures.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.failures: list[str] = []
        self.reason: str | None = None
        self.error: str | None = None
        self.completed = False
        self.last_call = ""
        self.not_crossing: str | None = None
        self.gone = False

    def stop_not_crossing(self, reason: str) -> NotCrossing:
        """What to raise where something cannot cross."""
        self.not_crossing = self.not_crossing or reason
        return NotCrossing(reason)

    def stop_gone(self) -> CandidateGone:
        """What to raise where the candidate no longer answers."""
        self.gone = True
        return CandidateGone()

    def succeed(self) -> None:
        """Count a check that passed."""
        self.passed += not (self.gone or self.not_crossing)

    def fail(self, check: str, error: BaseException, message: str | None = None) -> None:
        """Count a check that failed. `message` is what to say in place of the error itself."""
        if self.gone or self.not_crossing:
            return
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
            if message is None:
                message = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            detail = "\n".join(part for part in (message[:MAX_TEXT], self.last_call) if part)
        self.error = "\n".join(part for part in (check, detail) if part)

    def raise_answer(self, kind: str, fields: list[str], call: str) -> NoReturn:
        """Raise what an answer that is no value means, in the tests."""
        if kind == "E":
            name, base, detail, allocation = fields
            self.last_call = f"{call} raised {name}"
            raise remote_exception(name, base, f"{call} raised {detail}", allocation == "1")
        if kind == "U":
            detail, decides_equality = fields
            if decides_equality != "1":
                raise self.stop_not_crossing(detail)
            raise remote_exception("unencodable_value", "TypeError", f"{call}: {detail}", False)
        raise self.stop_gone()

    def report(self) -> str:
        """The message `T`'s text."""
        return json.dumps(
            {
                "passed": self.passed,
                "failed": self.failed,
                "failures": self.failures,
                "reason": self.reason,
                "error": self.error,
                "completed": self.completed,
                "not_crossing": self.not_crossing,
            }
        )


def remote_exception(name: str, base: str, detail: str, allocation: bool) -> Exception:
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

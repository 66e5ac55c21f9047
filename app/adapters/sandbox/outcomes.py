"""A runner's message → an outcome. The message is data: whatever does not fit is the sandbox's failure."""

import base64
import json
from dataclasses import replace
from typing import Any

from app.adapters.sandbox.requests import Style
from app.domain.errors import SandboxError
from app.domain.ports import Answer, End, Execution, ExecutionOutcome, Printed
from app.domain.verdicts import MemoryTier

_LIMITS = {
    "output_limit": End.OUTPUT_LIMIT,
    "memory": End.MEMORY,
    "cpu_time": End.CPU_TIME,
    "wall_time": End.WALL_TIME,
}


class NeedsOneProcess(Exception):
    """The tests need a value or a name that cannot leave the candidate's process. Says which."""


def build_outcome(
    message: dict[str, Any],
    execution: Execution,
    *,
    style: Style,
    sandbox: str,
    tier: MemoryTier,
    cgroup_peak_kb: int | None,
) -> ExecutionOutcome:
    """The outcome a message tells.

    Raises SandboxError where the execution could not be carried out, and NeedsOneProcess for `across`.
    """
    if "failure" in message:
        raise SandboxError(f"the sandbox failed: {message['failure']}")
    try:
        candidate = message["candidate"]
        for facts in (candidate, message.get("tester") or {}):
            if facts.get("setup_error"):
                raise SandboxError(f"the sandbox failed: {facts['setup_error']}")
        outcome = _from_candidate(candidate, execution, sandbox, tier, cgroup_peak_kb)
        if style in ("calls", "script") or outcome.compile_error is not None:
            return outcome
        if style == "command":
            return _with_command(outcome, candidate)
        if style == "weak":
            return _with_report(replace(outcome, weak=True), candidate, candidate)
        return _with_report(outcome, candidate, message["tester"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SandboxError(f"the sandbox sent a strange outcome: {error!r}") from error


def _from_candidate(
    facts: dict[str, Any], execution: Execution, sandbox: str, tier: MemoryTier, cgroup_peak_kb: int | None
) -> ExecutionOutcome:
    answers = tuple(_answer(one) for one in facts["answers"])
    printed = tuple(_printed(one) for one in facts["printed"])
    if len(answers) > len(execution.calls) or len(printed) > len(execution.inputs):
        raise ValueError("more answers than questions")
    unlimited = End.COMPLETED if facts["finished"] else End.EXITED
    end = unlimited if facts["limit"] is None else _LIMITS[facts["limit"]]
    return ExecutionOutcome(
        end=end,
        answers=answers,
        printed=printed,
        sandbox=sandbox,
        memory_tier=tier,
        compile_error=facts["compile_error"],
        exit_code=facts["exit_code"],
        signal=facts["signal"],
        cpu_ms=float(facts["cpu_ms"]),
        wall_ms=float(facts["wall_ms"]),
        peak_memory_kb=int(cgroup_peak_kb if cgroup_peak_kb is not None else facts["peak_memory_kb"]),
        oom_kills=int(facts["oom_kills"]),
        stdout=str(facts["stdout"]),
        stderr=str(facts["stderr"]),
    )


def _answer(raw: list[str]) -> Answer:
    kind, *rest = raw
    if kind == "V":
        (value,) = rest
        return Answer("value", value=value)
    if kind == "E":
        name, detail = rest
        return Answer("exception", error=name, detail=detail)
    (detail,) = rest
    return Answer("unencodable", detail=detail)


def _printed(one: Any) -> Printed:
    output, error, detail = one
    if not ((error is None or isinstance(error, str)) and isinstance(detail, str)):
        raise ValueError("errors are texts")
    return Printed(base64.b64decode(output, validate=True), error, detail)


def _with_command(outcome: ExecutionOutcome, candidate: dict[str, Any]) -> ExecutionOutcome:
    """The facts of a test command. Its report was left by the program's own process."""
    outcome = replace(outcome, weak=True)
    if candidate["report"] is None:
        return outcome
    left = json.loads(candidate["report"])
    report, failure = left["report"], left["failure"]
    if not (isinstance(failure, str) and (report is None or isinstance(report, str))):
        raise ValueError("a report is a text")
    return replace(outcome, report=report, tester_error=failure or None, tester_completed=True)


def _with_report(outcome: ExecutionOutcome, candidate: dict[str, Any], tester: dict[str, Any]) -> ExecutionOutcome:
    """Add what the tests found. Where the candidate ended early, its supervisor's account goes first."""
    report = _read_report(tester["report"])
    if report["not_crossing"] and candidate is not tester and outcome.end in (End.COMPLETED, End.EXITED):
        # An end of the candidate that explains the missing value would explain it in one process as well.
        raise NeedsOneProcess(report["not_crossing"])
    outcome = replace(
        outcome,
        tester_checks=report["passed"],
        tester_failed=report["failed"],
        tester_failures=tuple(report["failures"]),
        tester_error=report["error"],
        tester_reason=report["reason"],
        tester_completed=report["completed"],
    )
    cause: list[str] | None = candidate["load_error"] or candidate["death"]
    if report["reason"] is None and cause is not None:
        name, detail = cause
        outcome = replace(outcome, tester_reason=name, tester_error=detail)
    if outcome.end is not End.COMPLETED:
        return outcome
    if tester["limit"] is not None:
        return replace(outcome, end=_LIMITS[tester["limit"]])
    if report["reason"] == "memory":
        return replace(outcome, end=End.MEMORY)
    if report["not_crossing"]:
        return replace(outcome, tester_reason="NameError", tester_error=report["not_crossing"])
    if not report["completed"] and report["reason"] is None:
        raise SandboxError("the tests ended without a report")
    return outcome


def _read_report(text: str | None) -> dict[str, Any]:
    empty = {"passed": 0, "failed": 0, "failures": [], "reason": None, "error": None}
    report = {**empty, "completed": False, "not_crossing": None, **(json.loads(text) if text else {})}
    if not (isinstance(report["passed"], int) and isinstance(report["failed"], int)):
        raise ValueError("checks are counted in ints")
    failures = report["failures"]
    if not (isinstance(failures, list) and all(isinstance(one, str) for one in failures)):
        raise ValueError("failures are texts")
    for name in ("reason", "error", "not_crossing"):
        if not (report[name] is None or isinstance(report[name], str)):
            raise ValueError(f"{name} is a text")
    return report

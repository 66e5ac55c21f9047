"""From the results of single cases to a judgement: the first that fails decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.ports import ExecutionOutcome
from app.domain.problems import Case, StdinCase
from app.domain.verdicts import FirstFailure, Judgement, Verdict
from app.judge import evidence

SHOWN = 2000
"""Characters of a value or a text that are shown."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What one case came to. `verdict` AC means passed."""

    verdict: Verdict
    reason: str
    actual: str | None = None
    error: str | None = None


def decide(
    outcome: ExecutionOutcome,
    cases: Sequence[Case | StdinCase],
    results: Sequence[CaseResult],
    shown: Callable[[int], tuple[str, str]],
) -> Judgement:
    """The judgement of results in the order of their cases. `shown` gives a case's input and expected value to show."""
    failing = next((index for index, result in enumerate(results) if result.verdict is not Verdict.AC), None)
    first_failure = None
    verdict, reason = Verdict.AC, evidence.ACCEPTED
    if failing is not None:
        result = results[failing]
        verdict, reason = result.verdict, result.reason
        given, expected = shown(failing)
        first_failure = FirstFailure(failing, cases[failing].visible, given, expected, result.actual, result.error)
    passed = [case for case, result in zip(cases, results, strict=False) if result.verdict is Verdict.AC]
    return evidence.judgement(
        outcome,
        verdict,
        reason,
        passed=len(passed),
        run=len(results),
        total=len(cases),
        visible_passed=sum(case.visible for case in passed),
        visible_total=sum(case.visible for case in cases),
        first_failure=first_failure,
    )

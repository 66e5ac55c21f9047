"""What every test style derives alike from an outcome."""

from app.domain.ports import End, ExecutionOutcome
from app.domain.verdicts import FirstFailure, Judgement, Verdict

JUDGE_VERSION = 2
"""Raised whenever the same program and tests could get another verdict than before. Part of the result cache's key."""

LIMIT_VERDICTS = {
    End.OUTPUT_LIMIT: Verdict.RE,
    End.MEMORY: Verdict.MLE,
    End.CPU_TIME: Verdict.TLE,
    End.WALL_TIME: Verdict.TLE,
}
"""The verdict of a case during which an execution went over a limit; the reason is the limit's name."""

LIMIT_TEXTS = {
    End.OUTPUT_LIMIT: "it printed more than the output limit allows",
    End.MEMORY: "it needed more memory than the limit allows",
    End.CPU_TIME: "it used more CPU time than the limit allows",
    End.WALL_TIME: "it took more wall time than the limit allows",
}

ACCEPTED = "accepted"
COMPILE_ERROR = "compile_error"


def judgement(
    outcome: ExecutionOutcome,
    verdict: Verdict,
    reason: str,
    *,
    passed: int,
    run: int,
    total: int,
    visible_passed: int,
    visible_total: int,
    first_failure: FirstFailure | None,
) -> Judgement:
    """A judgement with the outcome's facts copied in."""
    return Judgement(
        verdict=verdict,
        reason=reason,
        cases_passed=passed,
        cases_run=run,
        cases_total=total,
        visible_passed=visible_passed,
        visible_total=visible_total,
        judge_version=JUDGE_VERSION,
        first_failure=first_failure,
        sandbox=outcome.sandbox,
        memory_tier=outcome.memory_tier,
        weak=outcome.weak,
        near_limit=outcome.near_limit,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        cpu_ms=outcome.cpu_ms,
        wall_ms=outcome.wall_ms,
        peak_memory_kb=outcome.peak_memory_kb,
        oom_kills=outcome.oom_kills,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
    )


def compile_failure(outcome: ExecutionOutcome, *, total: int, visible_total: int) -> Judgement:
    """CE. It belongs to no case, so that there is no input, and a model may always be shown the compiler's message."""
    return judgement(
        outcome,
        Verdict.CE,
        COMPILE_ERROR,
        passed=0,
        run=0,
        total=total,
        visible_passed=0,
        visible_total=visible_total,
        first_failure=FirstFailure(0, True, "", None, None, outcome.compile_error),
    )

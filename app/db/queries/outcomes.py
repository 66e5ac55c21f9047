"""What the trajectories of a run came to: the columns its figures are computed from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import Attempt, ProblemRow, Run, Trajectory
from app.db.queries.endings import FINISHED
from app.db.queries.precision import last_scores
from app.domain.errors import NotFoundError
from app.domain.metrics.catalogue import Measures, measured
from app.domain.metrics.outcomes import UNSOLVED, VERDICTS, Bools, Ints, Outcomes
from app.domain.protocol.policy import Start
from app.domain.verdicts import Verdict

_CODES = {verdict.value: code for code, verdict in enumerate(VERDICTS)}


def run_outcomes(session: Session, run_id: int) -> Outcomes:
    """The run's trajectories that have a verdict, and their attempts that count. The base task of an item, whose buggy
    programs other items repair as well, is what its tests are; else the problem.

    Raises NotFoundError.
    """
    run = session.get(Run, run_id)
    if run is None:
        raise NotFoundError(f"there is no run {run_id}")
    order = (Trajectory.problem_id, Trajectory.buggy_program_id, Trajectory.sample, Trajectory.id)
    judged = (Trajectory.run_id == run_id, Trajectory.attempts_judged > 0)
    trajectories = session.execute(
        select(
            Trajectory.id,
            Trajectory.problem_id,
            Trajectory.buggy_program_id,
            Trajectory.solved_at,
            Trajectory.attempts_judged,
            Trajectory.outcome,
            ProblemRow.tests_hash,
        )
        .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        .where(*judged)
        .order_by(*order)
    ).all()
    attempts = session.execute(
        select(
            Attempt.trajectory_id,
            Attempt.segment,
            Attempt.verdict,
            Attempt.cases_passed,
            Attempt.cases_run,
            Attempt.cases_total,
            Attempt.visible_passed,
            Attempt.visible_total,
            Attempt.repeats_attempt,
            Attempt.prompt_tokens,
            Attempt.completion_tokens,
            Attempt.cost,
            Attempt.syntax_hash,
        )
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(*judged, Attempt.attempt_index < Trajectory.attempts_judged)
        .order_by(*order, Attempt.attempt_index)
    ).all()
    ids, problem, buggy, solved_at, counted, outcome, tests = _columns(trajectories, 7)
    rows = {trajectory: row for row, trajectory in enumerate(ids)}
    (
        of, segment, verdict, passed, executed, total, shown_passed, shown, repeats, asked, answered, cost, syntax,
    ) = _columns(attempts, 13)  # fmt: skip
    visible, visible_passed = _ints(shown), _ints(shown_passed)
    recorded = run.imported_from is not None
    return Outcomes(
        attempts=run.protocol.attempts,
        unit=_numbered(problem if run.protocol.start is Start.GENERATE else tests),
        problem=_numbered(list(zip(problem, buggy, strict=True))),
        solved_at=_ints(solved_at, UNSOLVED),
        judged=_ints(counted),
        finished=np.array([one in FINISHED for one in outcome], dtype=bool),
        trajectory=_ints([rows[one] for one in of]),
        segment=_ints(segment),
        verdict=_ints([_CODES[one] for one in verdict]),
        passed=_ints(passed),
        executed=_ints(executed),
        total=_ints(total),
        passes_visible=(visible > 0) & (visible == visible_passed),
        repeats=np.array([one is not None for one in repeats], dtype=bool),
        tokens=np.array(asked, dtype=float) + np.array(answered, dtype=float),
        cost=np.array(cost, dtype=float),
        uncounted=_unknown(total, verdict) if recorded else None,
        unshown=_unknown(shown, verdict) if recorded else None,
        unseen=_unknown(syntax, verdict) if recorded else None,
        repairs=last_scores(session, run_id)[0],
    )


def run_measures(session: Session, run_id: int) -> Measures:
    """Every figure of the catalogue as the run's rows have it now, the resamples by seed 0.

    Raises NotFoundError.
    """
    return Measures(measured(run_outcomes(session, run_id)))


def _columns(rows: Sequence[Any], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _unknown(values: Sequence[object], verdicts: Sequence[str]) -> Bools | None:
    """Where a value is missing though there was a program; None where nowhere."""
    missing = [value is None and verdict != Verdict.NO_CODE for value, verdict in zip(values, verdicts, strict=True)]
    return np.array(missing, dtype=bool) if any(missing) else None


def _ints(column: Sequence[int | None], missing: int = 0) -> Ints:
    return np.array([missing if value is None else value for value in column], dtype=np.int64)


def _numbered(column: Sequence[Any]) -> Ints:
    """Numbers from 0 on in the order of first appearance."""
    known = {value: number for number, value in enumerate(dict.fromkeys(column))}
    return np.array([known[value] for value in column], dtype=np.int64)

"""What the trajectories of a run came to: the columns its figures are computed from, and what pairs it with others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.models import Attempt, ModelEndpoint, ProblemSetRow, Run, Trajectory, TrajectoryOutcome
from app.db.queries.decay_counts import decay_counts
from app.domain.comparability import Conditions
from app.domain.errors import NotFoundError
from app.domain.metrics.decay import Decay
from app.domain.metrics.outcomes import UNSOLVED, VERDICTS, Ints, Outcomes
from app.domain.verdicts import Verdict

FINISHED = (TrajectoryOutcome.SOLVED, TrajectoryOutcome.VISIBLE_ONLY, TrajectoryOutcome.EXHAUSTED)
"""Ends by the protocol's own rules; the others censor."""

_CODES = {verdict.value: code for code, verdict in enumerate(VERDICTS)}


def run_outcomes(session: Session, run_id: int) -> Outcomes:
    """The run's trajectories that have a verdict, and their attempts that count. The base task is the problem.

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
        )
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
        )
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(*judged, Attempt.attempt_index < Trajectory.attempts_judged)
        .order_by(*order, Attempt.attempt_index)
    ).all()
    ids, problem, buggy, solved_at, counted, outcome = _columns(trajectories, 6)
    rows = {trajectory: row for row, trajectory in enumerate(ids)}
    of, segment, verdict, passed, executed, total, shown_passed, shown, repeats, asked, answered, cost = _columns(
        attempts, 12
    )
    visible, visible_passed = _ints(shown), _ints(shown_passed)
    solved = np.array([one == Verdict.AC for one in verdict], dtype=bool)
    return Outcomes(
        attempts=run.protocol.attempts,
        unit=_numbered(problem),
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
        passes_visible=solved | ((visible > 0) & (visible == visible_passed)),
        repeats=np.array([one is not None for one in repeats], dtype=bool),
        tokens=np.array(asked, dtype=float) + np.array(answered, dtype=float),
        cost=np.array(cost, dtype=float),
    )


@dataclass(frozen=True, slots=True)
class PairedRun:
    """One run as it is compared with others.

    `solved` has an entry for each program asked for that ended by the protocol's rules: (problem, buggy program) →
    whether it was solved. `total` counts all of them.
    """

    id: int
    model_name: str
    problem_set_id: int
    total: int
    solved: dict[tuple[int, int | None], bool]
    decay: Decay
    conditions: Conditions


def paired_run(session: Session, run_id: int) -> PairedRun:
    """One run by problem.

    Raises NotFoundError.
    """
    counts = decay_counts(session, run_id)
    run, model_name, content_hash, sampling = session.execute(
        select(Run, ModelEndpoint.name, ProblemSetRow.content_hash, ModelEndpoint.sampling)
        .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
        .join(ProblemSetRow, ProblemSetRow.id == Run.problem_set_id)
        .where(Run.id == run_id)
    ).one()
    rows = session.execute(
        select(Trajectory.problem_id, Trajectory.buggy_program_id, Trajectory.solved_at).where(
            Trajectory.run_id == run_id, Trajectory.outcome.in_(FINISHED)
        )
    )
    kinds = session.execute(
        select(Attempt.sandbox, Attempt.memory_tier)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .where(Trajectory.run_id == run_id, Attempt.attempt_index < Trajectory.attempts_judged)
        .distinct()
    ).all()
    return PairedRun(
        id=run.id,
        model_name=model_name,
        problem_set_id=run.problem_set_id,
        total=run.trajectories_total,
        solved={(problem, buggy): solved_at is not None for problem, buggy, solved_at in rows},
        decay=counts.decay(),
        conditions=Conditions(
            problem_set_hash=content_hash,
            problems=None if run.subset is None else tuple(sorted(run.subset)),
            judge_version=run.judge_version,
            protocol=run.protocol,
            prompts_version=run.prompts_version,
            sampling=sampling,
            sandboxes=tuple(sorted({one for one, _ in kinds if one is not None})),
            memory_tiers=tuple(sorted({one for _, one in kinds if one is not None})),
        ),
    )


def _columns(rows: Sequence[Any], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _ints(column: Sequence[int | None], missing: int = 0) -> Ints:
    return np.array([missing if value is None else value for value in column], dtype=np.int64)


def _numbered(column: Sequence[Any]) -> Ints:
    """Numbers from 0 on in the order of first appearance."""
    known = {value: number for number, value in enumerate(dict.fromkeys(column))}
    return np.array([known[value] for value in column], dtype=np.int64)

"""Arms of a comparison: runs like a baseline in everything but when they start afresh, or how their model samples."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.db.base import LARGEST_ID
from app.db.models import EndpointKind, ModelEndpoint, Run, RunStatus, Trajectory
from app.db.queries.decay_counts import decay_counts
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.metrics.decay import decay
from app.domain.protocol.policy import Protocol
from app.domain.protocol.prompts import PROMPTS_VERSIONS
from app.domain.protocol.restart import NO_FRESH_START, FreshStart, RestartRule
from app.domain.work import Step
from app.judge.judge import JUDGE_VERSION
from app.services.steps.transitions import due_now

DECIDED = range(1, 100)
"""Percentages θ that an arm may name."""
_THETA = re.compile(r"t([0-9]+)(?::([0-9]{1,10}))?")


@dataclass(frozen=True, slots=True)
class ArmRequest:
    """An arm: a policy, or the θ (percent) whose t_θ on a published curve is the n of `once`.

    The curve is the baseline's, or that of the run `calibration`.
    """

    policy: FreshStart | None = None
    theta: int | None = None
    calibration: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ArmRequest":
        """From `t50`, `t50:12` (run 12's curve) or what `FreshStart.parse` reads. Raises InputError.

        Examples
        --------
        >>> ArmRequest.parse("t50:12").calibration, str(ArmRequest.parse("every:2").policy)
        (12, 'every:2')
        """
        found = _THETA.fullmatch(text.strip().lower())
        if found:
            theta, calibration = found.groups()
            if len(theta) > 2 or int(theta) not in DECIDED:
                raise InputError(f"arm: θ must be between 1 and 99 percent, not {theta}")
            if calibration is not None and int(calibration) > LARGEST_ID:
                raise InputError(f"arm: there is no run {calibration}")
            return cls(theta=int(theta), calibration=None if calibration is None else int(calibration))
        policy = FreshStart.parse(text)
        if policy == NO_FRESH_START:
            raise InputError("arm: the baseline is the arm without fresh starts")
        return cls(policy=policy)


def start_arms(db: Database, baseline_id: int, arms: Sequence[ArmRequest], *, shares: bool) -> list[int]:
    """Start arms beside a run, which may have ended; the ids of those that begin now.

    `shares`: the attempts before an arm's first fresh start are the baseline's own. Arms that a t_θ decides begin once
    the baseline has ended. The caller wakes the workers afterwards.

    Raises NotFoundError, InputError, and ConflictError where the run cannot be a baseline.
    """
    with db.write() as session:
        baseline = session.scalar(select(Run).where(Run.id == baseline_id).with_for_update())
        if baseline is None:
            raise NotFoundError(f"there is no run {baseline_id}")
        return add_arms(session, baseline, arms, shares=shares)


def add_arms(session: Session, baseline: Run, arms: Sequence[ArmRequest], *, shares: bool) -> list[int]:
    """The same inside a transaction, in which the baseline's trajectories are stored."""
    endpoint = session.get_one(ModelEndpoint, baseline.endpoint_id)
    _check_baseline(baseline, endpoint, shares=shares)
    if not arms:
        raise InputError("arm: choose at least one")
    begun = []
    for arm in arms:
        policy, origin = arm.policy, None
        if arm.theta is not None and arm.calibration is not None:
            policy, origin = _calibrated(session, arm.calibration, arm.theta)
        if policy is not None:
            afresh = replace(baseline.protocol, fresh_start=policy)
            begun.append(_add(session, baseline, endpoint, afresh, shares=shares, origin=origin))
        else:
            to_come = {"theta": arm.theta, "shares": shares}
            baseline.arms_to_come = [*(one for one in baseline.arms_to_come or () if one != to_come), to_come]
    session.flush()
    if baseline.arms_to_come and baseline.trajectories_ended == baseline.trajectories_total:
        begun += _add_decided(session, baseline, endpoint)
    return begun


def add_cells(session: Session, baseline: Run, cells: Sequence[Protocol]) -> list[int]:
    """Start the other cells of a sampling grid whose first cell is a run, inside the transaction that stores it."""
    endpoint = session.get_one(ModelEndpoint, baseline.endpoint_id)
    return [_add(session, baseline, endpoint, cell, shares=False, origin=None) for cell in cells]


def start_decided_arms(db: Database) -> list[int]:
    """Start the arms that waited for the curve of a baseline which has ended meanwhile; their ids."""
    ended = (
        select(Run)
        .where(Run.arms_to_come.is_not(None), Run.finished_at.is_not(None))
        .where(Run.trajectories_ended == Run.trajectories_total)
    )
    with db.read() as session:
        waiting = [run.id for run in session.scalars(ended) if _undecided(run)]
    begun = []
    for run_id in waiting:
        with db.write() as session:
            baseline = session.scalar(select(Run).where(Run.id == run_id).with_for_update())
            if baseline is not None and _undecided(baseline):
                begun += _add_decided(session, baseline, session.get_one(ModelEndpoint, baseline.endpoint_id))
    return begun


def _undecided(baseline: Run) -> bool:
    return any("refused" not in one for one in baseline.arms_to_come or ())


def _calibrated(session: Session, run_id: int, theta: int) -> tuple[FreshStart, str]:
    """The policy that the curve of another run decides, and where it comes from."""
    run = session.get(Run, run_id)
    if run is None:
        raise InputError(f"arm: there is no run {run_id}")
    if run.finished_at is None:
        raise InputError(f"arm: run {run_id} has not ended, so that its curve is not known yet")
    return _by_curve(session, run, theta, f"the curve of run {run_id}")


def _by_curve(session: Session, run: Run, theta: int, curve: str) -> tuple[FreshStart, str]:
    """Once, after t_θ of the published fit of a run that has ended, and words for where that comes from."""
    if run.status == RunStatus.CANCELLED:
        raise InputError(f"arm: run {run.id} was cancelled, and {curve} is cut short with it")
    counts = decay_counts(session, run.id)
    after = (decay(counts.solved, counts.of, counts.censored, thetas=[theta]).t_theta or {}).get(theta)
    if after is None:
        raise InputError(f"arm: {curve} has no t_{theta}")
    cut = sum(counts.censored)
    short = f", in which {cut:,} of {counts.of:,} problems were cut short" if cut else ""
    return FreshStart(RestartRule.ONCE, after), f"t_{theta} of {curve}{short}"


def _add_decided(session: Session, baseline: Run, endpoint: ModelEndpoint) -> list[int]:
    begun, refused = [], []
    for one in baseline.arms_to_come or ():
        try:
            _check_baseline(baseline, endpoint, shares=one["shares"])
            policy, origin = _by_curve(session, baseline, one["theta"], "the baseline's curve")
            afresh = replace(baseline.protocol, fresh_start=policy)
            begun.append(_add(session, baseline, endpoint, afresh, shares=one["shares"], origin=origin))
        except (InputError, ConflictError) as error:
            refused.append({**one, "refused": re.sub(r"^(fresh start|arm|model): ", "", str(error))})
    baseline.arms_to_come = refused or None
    return begun


def _check_baseline(baseline: Run, endpoint: ModelEndpoint, *, shares: bool) -> None:
    if baseline.protocol.fresh_start != NO_FRESH_START:
        raise ConflictError(f"run {baseline.id} starts afresh itself: choose a run of one conversation as the baseline")
    if baseline.imported_from is not None:
        raise ConflictError(f"run {baseline.id} was imported: its model cannot be asked")
    if baseline.dry_run:
        raise ConflictError(f"run {baseline.id} is a dry run: choose a whole run as the baseline")
    if endpoint.kind == EndpointKind.REPAIR_SEARCH:
        raise InputError("fresh start: repair-search has no conversation to clear")
    if endpoint.archived_at is not None:
        raise InputError(f"model: {endpoint.name} is archived; offer it again on its page first")
    prompts = PROMPTS_VERSIONS[baseline.protocol.prompts]
    if baseline.prompts_version != prompts or (shares and baseline.judge_version != JUDGE_VERSION):
        raise ConflictError(
            f"run {baseline.id} was made by prompts {baseline.prompts_version} and judge {baseline.judge_version}, "
            f"today's are {prompts} and {JUDGE_VERSION}: judge it again, or make the comparison anew"
        )


def _add(
    session: Session, baseline: Run, endpoint: ModelEndpoint, protocol: Protocol, *, shares: bool, origin: str | None
) -> int:
    for other in session.scalars(select(Run).where(Run.baseline_run_id == baseline.id)):
        if other.protocol == protocol and other.shares_attempts == shares and other.status != RunStatus.CANCELLED:
            raise InputError(f"fresh start: {protocol.fresh_start} is an arm already, run {other.id}")
    now = datetime.now(UTC)
    arm = Run(
        problem_set_id=baseline.problem_set_id,
        endpoint_id=baseline.endpoint_id,
        protocol=protocol,
        prompts_version=PROMPTS_VERSIONS[protocol.prompts],
        judge_version=JUDGE_VERSION,
        subset=baseline.subset,
        items=baseline.items,
        items_per_k=baseline.items_per_k,
        status=RunStatus.RUNNING,
        created_at=now,
        active_since=now,
        trajectories_total=baseline.trajectories_total,
        max_in_flight=baseline.max_in_flight,
        budget_tokens=baseline.budget_tokens,
        budget_cost=baseline.budget_cost,
        baseline_run_id=baseline.id,
        shares_attempts=shares,
        arm_origin=origin,
    )
    session.add(arm)
    session.flush()
    due = {"step": Step.SHARE} if shares else due_now(Step.ASK, endpoint.kind)
    trajectories = session.execute(
        select(Trajectory.problem_id, Trajectory.buggy_program_id, Trajectory.sample, Trajectory.position).where(
            Trajectory.run_id == baseline.id
        )
    )
    session.add_all(
        Trajectory(run_id=arm.id, problem_id=problem, buggy_program_id=buggy, sample=sample, position=position, **due)
        for problem, buggy, sample, position in trajectories
    )
    return arm.id

"""A trajectory, a trial and a re-judging as JSON: what the API answers and what `--json` prints."""

from datetime import datetime
from typing import Any

from app.db.models import Attempt
from app.db.queries.decay_counts import DecayCounts
from app.db.queries.rejudging import RejudgingView
from app.db.queries.trajectory import AttemptDetail, TrajectoryDetail
from app.db.queries.trials import TrialView
from app.domain.protocol.policy import Disclosure
from app.judge.judge import JUDGE_VERSION

_MEASURED = (
    "verdict",
    "reason",
    "weak",
    "near_limit",
    "cases_passed",
    "cases_run",
    "cases_total",
    "visible_passed",
    "visible_total",
    "exit_code",
    "signal",
    "cpu_ms",
    "wall_ms",
    "peak_memory_kb",
    "oom_kills",
    "memory_tier",
    "sandbox",
    "judge_version",
)


def plain(value: Any) -> str:
    """A time as JSON, for the encoder's `default`. Raises TypeError for anything else."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON value")


def discloses(failure: dict[str, Any], disclosure: Disclosure) -> bool:
    """Whether a failing case of a run is shown: a hidden one only where the protocol discloses all."""
    return bool(failure["visible"]) or disclosure is Disclosure.ALL


def trajectory_document(detail: TrajectoryDetail) -> dict[str, Any]:
    """A trajectory with its attempts. Of a failing case that is not disclosed, only its number is given."""
    trajectory = detail.trajectory
    return {
        "id": trajectory.id,
        "run": trajectory.run_id,
        "problem": detail.problem.key,
        "label": detail.label,
        "outcome": trajectory.outcome,
        "outcome_reason": trajectory.outcome_reason,
        "solved_at": trajectory.solved_at,
        "attempts_judged": trajectory.attempts_judged,
        "sandbox_failures": trajectory.sandbox_failures,
        "attempts": [_attempt(entry, detail) for entry in detail.attempts],
    }


def _attempt(entry: AttemptDetail, detail: TrajectoryDetail) -> dict[str, Any]:
    attempt: Attempt = entry.attempt
    failure = entry.first_failure
    if failure is not None and not discloses(failure, detail.run.protocol.disclosure):
        failure = {"index": failure["index"], "visible": False, "disclosed": False}
    elif failure is not None:
        failure = {**failure, "disclosed": True}
    return {
        "attempt": attempt.attempt_index,
        "segment": attempt.segment,
        "surplus": detail.is_surplus(attempt),
        **{name: getattr(attempt, name) for name in _MEASURED},
        "judging_outdated": attempt.judge_version not in (None, JUDGE_VERSION),
        "superseded": [
            {
                "verdict": old.verdict,
                "judge_version": old.judge_version,
                "judged_at": None if old.judged_at is None else old.judged_at.isoformat(),
            }
            for old in entry.superseded
        ],
        "first_failure": failure,
        "stdout": entry.stdout,
        "stderr": entry.stderr,
        "program": entry.program,
        "recorded_verdict": attempt.recorded_verdict,
        "repeats_attempt": attempt.repeats_attempt,
        "prompt_tokens": attempt.prompt_tokens,
        "completion_tokens": attempt.completion_tokens,
        "cost": attempt.cost,
    }


def trial_document(trial: TrialView) -> dict[str, Any]:
    """A trial; `judgement` with every case's evidence once it is `judged`, `error` where it `failed`."""
    return {
        "id": trial.id,
        "problem_id": trial.problem_id,
        "status": trial_status(trial),
        "created_at": trial.created_at.isoformat(),
        "finished_at": None if trial.finished_at is None else trial.finished_at.isoformat(),
        "waiting_for": trial.waiting_for,
        "error": trial.error,
        "judgement": trial.judgement,
    }


def trial_status(trial: TrialView) -> str:
    """`queued`, `judging`, `judged` or `failed`; the last is the sandbox's failure, never the program's."""
    if trial.finished_at is None:
        return "judging" if trial.under_way else "queued"
    return "judged" if trial.judgement is not None else "failed"


def rejudging_document(view: RejudgingView, rows: range | None = None) -> dict[str, Any]:
    """A re-judging: its progress, and once all is judged what it changes; of the changes those at `rows`, or all."""
    effect = view.effect
    return {
        "id": view.id,
        "run": view.run_id,
        "judge_version": view.judge_version,
        "status": view.status,
        "programs": view.programs,
        "finished": view.finished,
        "failed": view.failed,
        "appliable": view.appliable,
        "error": view.error,
        "changed": len(view.changes),
        "matrix": [{"from": old, "to": new, "count": count} for (old, new), count in sorted(view.matrix.items())],
        "changes": [
            {
                "trajectory": change.trajectory_id,
                "label": change.label,
                "attempt": change.attempt_index,
                "from": change.old,
                "to": change.new,
            }
            for change in (view.changes if rows is None else view.changes[rows.start : rows.stop])
        ],
        "before": None if effect is None else _counts(effect.before),
        "after": None if effect is None else {**_counts(effect.after), "surplus": effect.surplus},
    }


def _counts(counts: DecayCounts) -> dict[str, Any]:
    index = counts.decay()
    return {
        "solved": counts.solved_in_all,
        "of": counts.of,
        "solved_at_attempt": list(counts.solved),
        "censored_after_attempt": list(counts.censored),
        "ended_early": counts.ended_early,
        "e0": index.e0.estimate,
        "final_accuracy": index.final_accuracy.estimate,
        "lambda": index.lambda_,
    }

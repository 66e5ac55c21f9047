"""Fresh starts as pages, exports, the API and the command line show them: arms beside their baseline."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.db.queries.endings import ProblemKey
from app.db.queries.fresh_starts import Arm, FreshStarts
from app.domain.metrics.arms import ArmComparison, Result, compare_arms
from app.domain.metrics.comparison import POWER
from app.domain.metrics.decay import Decay
from app.web import wording
from app.web.fits import p_value

CSV_HEADER = (
    "run", "arm", "shares_attempts", "status", "problems", "counted", "solved", "accuracy", "accuracy_low",
    "accuracy_high", "left_out", "paired", "gained", "lost", "gained_before", "gained_after", "difference",
    "difference_low", "difference_high", "p_exact", "p_mid", "p_holm", "smallest_difference", "tokens", "tokens_shared",
    "cost", "cost_shared",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArmView:
    """One arm as it is shown; `against` is None for the baseline itself."""

    arm: Arm
    name: str
    curve: Decay
    against: ArmComparison[ProblemKey] | None

    @property
    def ended(self) -> bool:
        """Whether all its trajectories have."""
        return self.arm.run.trajectories_ended == self.arm.run.trajectories_total


def arm_views(found: FreshStarts) -> list[ArmView]:
    """The baseline first, then its arms in the order they were started."""
    compared = compare_arms(
        _results(found.baseline), list(map(_results, found.arms)), found.head.run.trajectories_total
    )
    return [
        ArmView(found.baseline, "continuous, the baseline", found.baseline.counts.decay(), None),
        *(
            ArmView(arm, arm_name(arm), arm.counts.decay(), against)
            for arm, against in zip(found.arms, compared, strict=True)
        ),
    ]


def _results(arm: Arm) -> dict[ProblemKey, Result]:
    """What can be paired."""
    return {key: Result(one.solved_at is not None, one.afresh) for key, one in arm.endings.items() if one.by_rules}


def arm_name(arm: Arm) -> str:
    """What an arm is called: its policy, and where its number comes from."""
    name = wording.fresh_start(arm.run.protocol.fresh_start)
    origin = f" ({arm.run.arm_origin})" if arm.run.arm_origin else ""
    return f"{name}{origin}{'' if arm.run.shares_attempts else ', independent'}"


def sentence(views: Sequence[ArmView]) -> str:
    """What came of it, in a sentence with the numbers it rests on."""
    arms = [(view, view.against) for view in views if view.against is not None and view.against.paired.n]
    if not arms:
        return "No problem has ended in the baseline and in an arm yet."
    told = [(view, one) for view, one in arms if one.p_holm < 0.05]
    if not told:
        n = max(one.paired.n for _, one in arms)
        return f"No arm differs from the baseline by more than chance explains, on {wording.count(n, 'problem')}."
    parts = [
        f"{view.name}: {_points(one.paired.difference)} points ({_points(one.paired.low)} to "
        f"{_points(one.paired.high)}, p {p_value(one.p_holm)} after Holm)"
        for view, one in told
    ]
    return f"Against the baseline, {'; '.join(parts)}."


def chart_sentence(views: Sequence[ArmView]) -> str:
    """How to read the chart."""
    return (
        f"Effectiveness by attempt of the baseline and {wording.count(len(views) - 1, 'arm')}; "
        "diamonds are attempts at which problems start afresh."
    )


def detectable(one: ArmComparison[ProblemKey]) -> str:
    """The smallest difference that could have been found."""
    if one.paired.detectable is None:
        return "none: too few problems tell the two apart"
    return f"{100 * one.paired.detectable:.1f} points, with power {POWER:g}"


def arms_text(found: FreshStarts) -> str:
    """A line an arm."""
    lines = [sentence(arm_views(found))]
    for one in document(found)["arms"]:
        accuracy, against = one["accuracy"], one["against_baseline"]
        share = "–" if accuracy["estimate"] is None else f"{100 * accuracy['estimate']:.1f} %"
        line = f"run {one['run']}  {one['name']}: {share} of {accuracy['n']:,}, {one['tokens']:,} tokens"
        if one["tokens_shared"]:
            line += f" ({one['tokens_shared']:,} shared)"
        if against is not None:
            line += (
                f"; {_points(against['difference'])} points ({_points(against['difference_low'])} to "
                f"{_points(against['difference_high'])}), {len(against['gained']):,} gained, "
                f"{len(against['lost']):,} lost, p {p_value(against['p_exact'])} exact, "
                f"{p_value(against['p_holm'])} after Holm"
            )
        lines.append(line)
    for one in found.head.run.arms_to_come or ():
        lines.append(f"t_{one['theta']}: {one.get('refused') or 'waits for the end of the baseline'}")
    return "\n".join(lines)


def document(found: FreshStarts) -> dict[str, Any]:
    """All of it as data. Shares are fractions; None is undefined or, for a cost, unknown."""
    views = arm_views(found)
    return {
        "baseline": found.head.run.id,
        "problems": found.head.run.trajectories_total,
        "summary": sentence(views),
        "arms": [_arm_document(view) for view in views],
        "to_come": found.head.run.arms_to_come or [],
    }


def csv_rows(found: FreshStarts) -> list[list[Any]]:
    """A row an arm, the baseline first."""
    rows = []
    for one in document(found)["arms"]:
        accuracy, against = one["accuracy"], one["against_baseline"] or {}
        flat = one | {
            "accuracy": accuracy["estimate"],
            "accuracy_low": accuracy["low"],
            "accuracy_high": accuracy["high"],
            "solved": accuracy["successes"],
            "counted": accuracy["n"],
            **against,
            "gained": len(against["gained"]) if against else None,
            "lost": len(against["lost"]) if against else None,
        }
        rows.append([flat.get(name) for name in CSV_HEADER])
    return rows


def _arm_document(view: ArmView) -> dict[str, Any]:
    run, one = view.arm.run, view.against
    return {
        "run": run.id,
        "arm": str(run.protocol.fresh_start),
        "name": view.name,
        "origin": run.arm_origin,
        "shares_attempts": run.shares_attempts,
        "status": run.status,
        "problems": run.trajectories_total,
        "accuracy": asdict(view.curve.final_accuracy),
        "hazard": [
            {"attempt": point.attempt, "solved": point.solved, "at_risk": point.at_risk, **_bounds(point.hazard)}
            for point in view.curve.points
        ],
        "fresh_starts": {str(attempt): count for attempt, count in view.arm.started.items()},
        "tokens": view.arm.tokens,
        "tokens_shared": run.tokens_shared,
        "cost": view.arm.cost,
        "cost_shared": run.cost_shared,
        "against_baseline": None
        if one is None
        else {
            "paired": one.paired.n,
            "left_out": one.left_out,
            "gained": [view.arm.endings[key].label for key in one.gained],
            "lost": [view.arm.endings[key].label for key in one.lost],
            "gained_before": one.gained_before,
            "gained_after": one.gained_after,
            "difference": one.paired.difference,
            "difference_low": one.paired.low,
            "difference_high": one.paired.high,
            "p_exact": one.paired.p_exact,
            "p_mid": one.paired.p_mid,
            "p_holm": one.p_holm,
            "smallest_difference": one.paired.detectable,
        },
    }


def _bounds(share: Any) -> dict[str, float | None]:
    return {"estimate": share.estimate, "low": share.low, "high": share.high}


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}".replace("-", "−")

"""Every figure of a run, as a document and as text."""

from dataclasses import asdict
from typing import Any

from app.db.queries.decay_counts import DecayCounts
from app.domain.metrics.catalogue import CATALOGUE, measured
from app.domain.metrics.error_fixes import uncounted
from app.domain.metrics.intervals import RESAMPLES, Estimate, EstimateStatus
from app.domain.metrics.outcomes import Outcomes
from app.domain.metrics.refinement import flow
from app.domain.metrics.survival import solved_within
from app.web.fits import CAVEAT

WHY_NOT = {
    EstimateStatus.UNDEFINED: "undefined: nothing to measure",
    EstimateStatus.UNKNOWN: "unknown: not recorded for every attempt",
    EstimateStatus.NOT_REACHED: "not reached",
    EstimateStatus.NO_SPREAD: "no interval: resamples do not vary on both sides",
    EstimateStatus.UNSTABLE: "no interval: too many resamples leave it undefined",
    EstimateStatus.ONE_SIDED: "one end alone",
}


def left_out(counts: DecayCounts) -> dict[str, int]:
    """What is outside a run's figures, or in them up to its last verdict alone, by name."""
    names = ("excluded", "cut_short", "ended_early", "visible_only", "running", "waiting")
    return {name: getattr(counts, name) for name in names}


def measures_document(outcomes: Outcomes, outside: dict[str, int], seed: int = 0) -> dict[str, Any]:
    """Every figure of a run. Shares are fractions; None is undefined, with its `status`.

    `outside` is `left_out` of the run's counts.
    """
    found = measured(outcomes, seed=seed)
    flows = flow(outcomes)
    solved, censored = outcomes.solved_by_attempt().tolist(), outcomes.left_by_attempt(finished=False).tolist()
    within = [solved_within(solved, len(outcomes.unit), censored, k=k + 1) for k in range(outcomes.attempts)]
    return {
        "problems": outcomes.units,
        "trajectories": len(outcomes.unit),
        "left_out": outside,
        "resamples": RESAMPLES,
        "seed": seed,
        "figures": [
            {
                "slug": metric.slug,
                "label": metric.label,
                "unit": metric.unit,
                "better": metric.direction.value,
                "version": metric.version,
                "values": {key: asdict(estimate) for key, estimate in found[metric.slug].items()},
            }
            for metric in CATALOGUE
        ],
        "solved_within": [asdict(one) for one in within],
        "verdict_flow": [
            {"from": before.value, "to": after.value, "count": count} for (before, after), count in flows.matrix.items()
        ],
        "fixed": {verdict.value: count for verdict, count in flows.fixed.items()},
        "stopped_short": flows.stopped_short,
        "uncounted": uncounted(outcomes),
        "caveat": CAVEAT,
    }


def measures_text(document: dict[str, Any]) -> str:
    """The figures, one a line."""
    outside = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in document["left_out"].items() if count)
    lines = [
        f"{document['problems']:,} problems; left out or counted in part: {outside or 'none'}",
        f"95 % intervals; where not Wilson's or a profile's, of {document['resamples']:,} resamples of problems,"
        f" seed {document['seed']}",
        "",
    ]
    for figure in document["figures"]:
        for key, value in figure["values"].items():
            name = figure["label"] + (f", {key}" if key else "")
            lines.append(f"{name:<58} {_estimate(Estimate(**value), figure['unit'])}")
    if document["stopped_short"]:
        lines += [
            "",
            f"{document['stopped_short']:,} attempts were recorded up to a failing case alone: fixes and regressions "
            "beside them may be counted wrongly.",
        ]
    if document["uncounted"]:
        lines += ["", f"{document['uncounted']:,} attempts are recorded without a count of cases."]
    return "\n".join([*lines, "", CAVEAT])


def _estimate(found: Estimate, unit: str) -> str:
    """In one line of text."""
    value, interval, note = figure_words(found, unit)
    if value is None:
        return note
    named = "%" if unit.startswith("share") else unit
    return f"{value} {named}" + (f"  ({interval})" if interval else "") + (f"  {note}" if note else "")


def figure_words(found: Estimate, unit: str) -> tuple[str | None, str, str]:
    """A figure, its interval (empty without one) and what is to be said of it (empty where all is well).

    None where there is nothing to show but the reason. Shares are in percent.
    """

    def shown(value: float | None, missing: str) -> str:
        if value is None:
            return missing
        if unit.startswith("share"):
            return f"{100 * value:.1f}"
        if unit == "iterations":
            return f"{value:.3g}"
        return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"

    note = "" if found.status is EstimateStatus.OK else WHY_NOT[found.status]
    if found.estimate is None and found.status is not EstimateStatus.ONE_SIDED:
        return None, "", note
    bounded = found.low is not None or found.high is not None
    interval = f"{shown(found.low, 'no lower end')} to {shown(found.high, 'no upper end')}" if bounded else ""
    return shown(found.estimate, "no finite value"), interval, note

"""Every figure of a run, and runs against each other: as documents and as text."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from app.db.queries.decay_counts import DecayCounts
from app.db.queries.outcomes import PairedRun
from app.domain.comparability import differences
from app.domain.errors import InputError
from app.domain.metrics.archetypes import LEAST_R_SQUARED, Archetype, archetypes
from app.domain.metrics.catalogue import CATALOGUE, measured
from app.domain.metrics.comparison import POWER, Paired, holm, paired, smallest_difference, tie_groups
from app.domain.metrics.intervals import RESAMPLES, Estimate, EstimateStatus
from app.domain.metrics.outcomes import Bools, Outcomes
from app.domain.metrics.refinement import flow
from app.domain.metrics.survival import solved_within
from app.web.conditions import in_words, label
from app.web.fits import CAVEAT, p_value

ARCHETYPES = {
    Archetype.HIGH_E0_LOW_LAMBDA: "high E0, low λ",
    Archetype.LOW_E0_LOW_LAMBDA: "low E0, low λ",
    Archetype.HIGH_E0_HIGH_LAMBDA: "high E0, high λ",
    Archetype.LOW_E0_HIGH_LAMBDA: "low E0, high λ",
}
LEFT_OUT = (
    "The problems left out are no random part: what is solved ends sooner, which favours runs that were cut short."
)
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
    return "\n".join([*lines, "", CAVEAT])


def _estimate(found: Estimate, unit: str) -> str:
    percent = unit.startswith("share")

    def shown(value: float | None) -> str:
        if value is None:
            return "none"
        return f"{100 * value:.1f}" if percent else f"{value:.3f}"

    if found.estimate is None and found.status is not EstimateStatus.ONE_SIDED:
        return WHY_NOT[found.status]
    text = f"{shown(found.estimate)} {'%' if percent else unit}"
    if found.low is not None or found.high is not None:
        text += f"  ({shown(found.low)} to {shown(found.high)})"
    return text if found.status is EstimateStatus.OK else f"{text}  {WHY_NOT[found.status]}"


def comparison_document(runs: Sequence[PairedRun]) -> dict[str, Any]:
    """Runs on the same problems, every pair of them. Programs that some run did not end on are left out of all.

    Raises InputError where they are of different problem sets, or share no problem.
    """
    if len({run.problem_set_id for run in runs}) > 1:
        raise InputError("these runs are of different problem sets or versions: only the same problems can be paired")
    common = sorted(set.intersection(*(set(run.solved) for run in runs)), key=lambda key: (key[0], key[1] or 0))
    if not common:
        raise InputError("these runs have no problem in common that all of them ended")
    outcomes = np.array([[run.solved[key] for key in common] for run in runs], dtype=bool)
    left = max(run.total for run in runs) - len(common)
    pairs = list(combinations(range(len(runs)), 2))
    tests = [_paired(outcomes[one], outcomes[other]) for one, other in pairs]
    adjusted = holm([test.p_mid for test in tests])
    groups, kinds = tie_groups(outcomes), archetypes([run.decay for run in runs])
    return {
        "problems": len(common),
        "left_out": left,
        "caveat": LEFT_OUT if left else None,
        "runs": [
            {
                "run": run.id,
                "model": run.model_name,
                "solved": int(outcomes[row].sum()),
                "tie_group": groups[row],
                "archetype": None if kind is None else kind.value,
            }
            for row, (run, kind) in enumerate(zip(runs, kinds.of, strict=True))
        ],
        "archetype_cut_offs": {"e0": kinds.e0, "lambda": kinds.lambda_, "least_r_squared": LEAST_R_SQUARED},
        "pairs": [
            {
                "run": runs[one].id,
                "other": runs[other].id,
                **asdict(test),
                "p_holm": p,
                "smallest_difference": (
                    smallest_difference(test.n, (test.gained + test.lost) / test.n) if test.gained + test.lost else None
                ),
            }
            for (one, other), test, p in zip(pairs, tests, adjusted, strict=True)
        ],
        "differences": [
            {
                "run": run.id,
                "condition": found.condition,
                "value": in_words(found.condition, found.value),
                "first": in_words(found.condition, found.usual),
            }
            for run in runs[1:]
            for found in differences(run.conditions, runs[0].conditions)
        ],
    }


def _paired(one: Bools, other: Bools) -> Paired:
    both, gained, lost = (int(count) for count in ((one & other).sum(), (one & ~other).sum(), (~one & other).sum()))
    return paired(both, gained, lost, len(one) - both - gained - lost)


def comparison_text(document: dict[str, Any]) -> str:
    """The comparison as text: the difference first, then its test."""
    n = document["problems"]
    lines = [f"{n:,} problems that every run ended; {document['left_out']:,} left out"]
    if document["caveat"] is not None:
        lines.append(document["caveat"])
    for found in document["differences"]:
        lines.append(
            f"not comparable: run {found['run']}, {label(found['condition'])} {found['value']}, not {found['first']}"
        )
    lines.append("")
    for run in sorted(document["runs"], key=lambda run: (run["tie_group"], -run["solved"])):
        kind = "" if run["archetype"] is None else f"  {ARCHETYPES[Archetype(run['archetype'])]}"
        lines.append(
            f"tie group {run['tie_group'] + 1}  run {run['run']}  {run['solved']:,} solved "
            f"({100 * run['solved'] / n:.1f} %)  {run['model']}{kind}"
        )
    cut = document["archetype_cut_offs"]
    if cut["e0"] is not None:
        lines.append(f"high and low by the medians of these runs: E0 {100 * cut['e0']:.1f} %, λ {cut['lambda']:.3f}")
    for pair in document["pairs"]:
        lines += [
            "",
            f"run {pair['run']} − run {pair['other']}: {100 * pair['difference']:+.1f} points "
            f"({100 * pair['low']:+.1f} to {100 * pair['high']:+.1f}), "
            f"{pair['gained']:,} gained, {pair['lost']:,} lost",
            f"  McNemar p {p_value(pair['p_exact'])} exact, {p_value(pair['p_mid'])} mid-p, "
            f"{p_value(pair['p_holm'])} after Holm over {len(document['pairs'])}",
            "  " + _detectable(pair["smallest_difference"], n),
        ]
    return "\n".join(lines)


def _detectable(smallest: float | None, n: int) -> str:
    if smallest is None:
        return f"too few of the {n:,} problems tell them apart for any difference to be found"
    return f"smallest difference found with power {POWER:g}: {100 * smallest:.1f} points, if as many problems differ"

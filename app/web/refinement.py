"""Iterative refinement of a run as its page, files and the API show it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from app.db.queries.refinement import Refinement, Subset, refinement
from app.db.queries.tiers import Counted, together
from app.domain.metrics.catalogue import BY_SLUG
from app.domain.metrics.comparison import Paired, matched
from app.domain.metrics.error_fixes import (
    Changes,
    ErrorRow,
    changes,
    error_rows,
    uncounted,
    with_syntax_errors_as_runtime_errors,
)
from app.domain.metrics.intervals import Estimate, Resamples
from app.domain.metrics.refinement import Flow, change_share, flow
from app.domain.metrics.survival import SolvedWithin, solved_within
from app.domain.verdicts import Verdict
from app.web import wording
from app.web.conditions import in_words, label
from app.web.feedback_loops import ERROR_FIXES, LICENCE, SOURCE, VERDICTS
from app.web.marks import verdict_mark
from app.web.measures import figure_words, left_out
from app.web.tiers import Figure, Share, ordered_tiers, share_of, tier_name

CSV_HEADER = (
    "table", "row", "column", "estimate", "low", "high", "n", "status", "occurrences", "fixed", "regressed", "count",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RefinementQuery:
    """What decides the error table; all of it stands in the address.

    `count_last`: a failing attempt that none follows is an occurrence. `published`: beside the paper's table, and so
    with its way to count Python's syntax errors.
    """

    count_last: bool = False
    published: bool = False

    @classmethod
    def read(cls, count_last: str, published: str) -> "RefinementQuery":
        """From an address."""
        return cls(count_last == "1", published == "1")

    def address(self, **changed: bool) -> str:
        """The query string with something changed; empty for the usual table."""
        asked = replace(self, **changed)
        pairs = [name for name, value in (("count_last", asked.count_last), ("published", asked.published)) if value]
        return "?" + "&".join(f"{name}=1" for name in pairs) if pairs else ""


@dataclass(frozen=True, slots=True)
class TierRow:
    """The problems of the whole set, `subset` None, or of a subset: by difficulty, and all of them at the end."""

    subset: Subset | None
    cells: tuple[tuple[str, Share, Share], ...]
    """Name of the difficulty, ISR@k, pass@1."""


@dataclass(frozen=True, slots=True)
class SingleView:
    """A single attempt against all of them. `run_id` None is the run's own first attempt, which cannot do better."""

    run_id: int | None
    paired: Paired
    left_out: int
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefinementView:
    """Everything that is shown of a run. `errors` follow the query; `mis` is the published median."""

    found: Refinement
    query: RefinementQuery
    within: tuple[SolvedWithin, ...]
    mis: Estimate
    median: Estimate
    errors: tuple[ErrorRow, ...]
    flow: Flow
    changes: Changes
    change_shares: tuple[tuple[str, int, Estimate], ...]
    uncounted: int
    tiers: tuple[str, ...]
    tier_rows: tuple[TierRow, ...]
    single: SingleView

    @property
    def censored(self) -> bool:
        """Whether problems were cut short, or are under way, so that ISR@k is an estimate."""
        return any(point.censored for point in self.within)

    @property
    def pairs(self) -> list[tuple[Verdict, Verdict, int]]:
        """Verdict, next verdict, pairs; the most frequent first."""
        return sorted(((*pair, count) for pair, count in self.flow.matrix.items()), key=lambda one: -one[2])


def refinement_view(session: Session, run_id: int, query: RefinementQuery) -> RefinementView:
    """One run.

    Raises NotFoundError.
    """
    found = refinement(session, run_id)
    outcomes = found.outcomes
    resamples = Resamples(outcomes.units)
    counted = with_syntax_errors_as_runtime_errors(outcomes) if query.published else outcomes
    found_changes = changes(outcomes)
    tiers = ordered_tiers(tier for tiers in found.tiers.values() for tier in tiers)
    subsets: list[Subset | None] = [None, *found.subsets]
    return RefinementView(
        found=found,
        query=query,
        within=_within(found, resamples),
        mis=BY_SLUG["mis"].measure(outcomes, resamples)[""],
        median=BY_SLUG["median_iteration"].measure(outcomes, resamples)[""],
        errors=error_rows(counted, resamples, count_last=query.count_last),
        flow=flow(outcomes),
        changes=found_changes,
        change_shares=tuple(
            (words, count, change_share(outcomes, resamples, sign))
            for words, count, sign in (
                ("more cases pass", found_changes.up, 1),
                ("as many", found_changes.same, 0),
                ("fewer: a regression", found_changes.down, -1),
            )
        ),
        uncounted=uncounted(outcomes),
        tiers=(*map(tier_name, tiers), "all"),
        tier_rows=tuple(
            _tier_row(subset, found.tiers[None if subset is None else subset.id], tiers) for subset in subsets
        ),
        single=_single(found),
    )


def _within(found: Refinement, resamples: Resamples) -> tuple[SolvedWithin, ...]:
    """ISR@k. Where problems have several samples or variants they are averaged, and no bounds are given."""
    outcomes = found.outcomes
    solved, cut = outcomes.solved_by_attempt().tolist(), outcomes.left_by_attempt(finished=False).tolist()
    points = [solved_within(solved, len(outcomes.unit), cut, k=k + 1) for k in range(outcomes.attempts)]
    if outcomes.simple:
        return tuple(points)
    averaged = BY_SLUG["isr"].measure(outcomes, resamples)
    return tuple(
        replace(
            point,
            estimate=averaged[str(point.k)].estimate,
            low=averaged[str(point.k)].low,
            high=averaged[str(point.k)].high,
            all_failed=None,
            all_excluded=None,
        )
        for point in points
    )


def _tier_row(subset: Subset | None, found: dict[str | None, Counted], tiers: list[str | None]) -> TierRow:
    of: list[tuple[str, Counted | None]] = [(tier_name(tier), found.get(tier)) for tier in tiers]
    of.append(("all", together(found.values())))
    return TierRow(
        subset, tuple((name, share_of(counted, Figure.ISR), share_of(counted, Figure.FIRST)) for name, counted in of)
    )


def _single(found: Refinement) -> SingleView:
    run, single = found.head.run, found.single
    if single is None:
        pair = matched(found.results, found.first_results).paired
        return SingleView(None, pair, run.trajectories_total - pair.n, ())
    pair = matched(found.results, single.results).paired
    differs = tuple(
        f"{label(one.condition)}: {in_words(one.condition, one.value)}, there {in_words(one.condition, one.usual)}"
        for one in single.differs
    )
    return SingleView(single.run_id, pair, run.trajectories_total - pair.n, differs)


def isr_sentence(view: RefinementView) -> str:
    """What the curve shows, and what censoring leaves open."""
    first, last = view.within[0], view.within[-1]
    if first.estimate is None:
        return "ISR@k: nothing is judged yet."
    units = wording.count(view.found.outcomes.units, "problem")
    text = f"ISR@k: of {units}, {_percent(first.estimate)} are solved at the first iteration"
    if len(view.within) > 1:
        text += (
            f" and {_percent(last.estimate)} within {last.k}"
            if last.estimate is not None
            else f"; within {last.k} is not known, since everybody unsolved was cut short before"
        )
    if not view.censored:
        return text + "."
    cut = wording.count(last.censored, "problem")
    text += f", by Kaplan and Meier, since {cut} {'is' if last.censored == 1 else 'are'} cut short or under way"
    if last.all_failed is not None and last.all_excluded is not None:
        text += f"; {_percent(last.all_failed)} had all of those failed, {_percent(last.all_excluded)} without them"
    return text + "."


def flow_sentence(view: RefinementView) -> str:
    """What follows failing attempts."""
    total = sum(view.flow.matrix.values())
    if not total:
        return "No failing attempt is followed by another one yet."
    accepted = sum(count for (_, after), count in view.flow.matrix.items() if after is Verdict.AC)
    before, after, count = view.pairs[0]
    return (
        f"Of {wording.count(total, 'failing attempt')} that another one answers, {_percent(accepted / total)} are "
        f"followed by an accepted program; the most frequent pair is {verdict_mark(before).word} and then "
        f"{verdict_mark(after).word}, {_percent(count / total)}."
    )


def median_words(found: Estimate) -> tuple[str, str]:
    """A median in iterations and its interval; why there is none stands in place of it."""
    _, interval, note = figure_words(found, "iterations")
    if found.estimate is None:
        return note, ""
    if found.low is None or found.high is None:
        return f"{found.estimate:g}", interval or note
    return f"{found.estimate:g}", f"{found.low:g} – {found.high:g} iterations"


def published_rows() -> list[tuple[str, list[tuple[int, int]]]]:
    """The paper's models with occurrences and fixes by verdict, and all of them together at the end."""
    rows = [(model, list(pairs)) for model, pairs in ERROR_FIXES.items()]
    columns = zip(*ERROR_FIXES.values(), strict=True)
    sums = [(sum(n for n, _ in column), sum(fixed for _, fixed in column)) for column in columns]
    return [*rows, ("Overall", sums)]


def document(view: RefinementView) -> dict[str, Any]:
    """All of it as data. Shares are fractions; None is undefined, with its status where there is one."""
    found = view.found
    return {
        "run": found.head.run.id,
        "problems": found.outcomes.units,
        "left_out": left_out(found.counts),
        "summary": isr_sentence(view),
        "solved_within": [asdict(point) for point in view.within],
        "mis": asdict(view.mis),
        "median_iteration": asdict(view.median),
        "errors": {
            "count_last": view.query.count_last,
            "syntax_errors_as_runtime_errors": view.query.published,
            "rows": [
                {**asdict(row), "verdict": None if row.verdict is None else row.verdict.value} for row in view.errors
            ],
        },
        "verdict_flow": [
            {"from": before.value, "to": after.value, "count": count} for before, after, count in view.pairs
        ],
        "changes": {
            name: {"count": count, **asdict(share)}
            for name, (_, count, share) in zip(("up", "same", "down"), view.change_shares, strict=True)
        },
        "stopped_short": view.flow.stopped_short,
        "cases_uncounted": view.uncounted,
        "tiers": [
            {
                "subset": None if row.subset is None else asdict(row.subset),
                "cells": [
                    {"tier": tier, "isr": asdict(isr), "pass_1": asdict(first)} for tier, isr, first in row.cells
                ],
            }
            for row in view.tier_rows
        ],
        "single": {**asdict(view.single), "paired": {**asdict(view.single.paired), "n": view.single.paired.n}},
        "published": {"source": SOURCE, "licence": LICENCE, "verdicts": VERDICTS, "rows": ERROR_FIXES}
        if view.query.published
        else None,
    }


def csv_rows(view: RefinementView) -> list[list[Any]]:
    """A row a figure."""
    rows: list[dict[str, Any]] = []
    for point in view.within:
        known = {"estimate": point.estimate, "low": point.low, "high": point.high, "status": point.status.value}
        rows.append({"table": "isr", "row": point.k, "column": "kaplan_meier", "n": point.n, **known})
        if point.censored:
            for column in ("all_failed", "all_excluded"):
                rows.append({"table": "isr", "row": point.k, "column": column, "estimate": getattr(point, column)})
    for name, median in (("mis", view.mis), ("median_iteration", view.median)):
        rows.append({"table": "median", "row": name, **_flat(median)})
    for error in view.errors:
        counts = {"occurrences": error.occurrences, "fixed": error.fixed, "regressed": error.regressed}
        name = "all" if error.verdict is None else error.verdict.value
        rows.append({"table": "errors", "row": name, "column": "fix_rate", **_flat(error.rate), **counts})
    for before, after, count in view.pairs:
        rows.append({"table": "verdict_flow", "row": before.value, "column": after.value, "count": count})
    for name, (_, count, share) in zip(("up", "same", "down"), view.change_shares, strict=True):
        rows.append({"table": "changes", "row": name, "count": count, **_flat(share)})
    for tiers in view.tier_rows:
        subset = "whole set" if tiers.subset is None else f"{tiers.subset.name} v{tiers.subset.version}"
        for tier, isr, first in tiers.cells:
            for figure, share_ in (("isr", isr), ("pass_1", first)):
                rows.append({"table": f"tiers {figure}", "row": subset, "column": tier, **asdict(share_)})
    return [[row.get(name) for name in CSV_HEADER] for row in rows]


def _flat(found: Estimate) -> dict[str, Any]:
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "status": found.status.value,
    }


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"

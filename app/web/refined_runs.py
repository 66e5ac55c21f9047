"""Runs of a problem set side by side, by difficulty, as the page, files and the API show them."""

from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session
from starlette.datastructures import QueryParams

from app.db.base import LARGEST_ID
from app.db.queries.refined_runs import RefinedRun, RefinedRuns, newest_set, refined_runs
from app.db.queries.tiers import together
from app.domain.errors import InputError
from app.domain.protocol.policy import Start
from app.services.challenge_set import MOST_RUNS
from app.web.tiers import Figure, Share, figure_of, ordered_tiers, share_of, tier_name

CSV_HEADER = (
    "run", "model", "reasoning", "hint", "prompts", "temperature", "top_p", "attempts", "status", "subset", "tier",
    "pass1", "pass1_low", "pass1_high", "isr", "isr_low", "isr_high", "final", "final_low", "final_high", "n",
    "without_verdict", "cut_short",
)  # fmt: skip
MARKS = {True: "yes", False: "no", None: "not marked"}


@dataclass(frozen=True, slots=True)
class RefinedQuery:
    """Everything that decides what is shown; all of it stands in the address."""

    problem_set_id: int | None = None
    subset_id: int | None = None
    run_ids: tuple[int, ...] = ()
    start: Start | None = None
    figure: Figure = Figure.ISR

    @classmethod
    def read(cls, given: QueryParams) -> "RefinedQuery":
        """From an address; what makes no sense in it is passed over. Raises InputError for too many runs."""
        listed = [number for run in given.getlist("run") for part in run.split(",") if (number := _number(part))]
        if len(listed) > MOST_RUNS:
            raise InputError(f"run: at most {MOST_RUNS} runs are shown, not {len(listed)}")
        start = given.get("start", "")
        return cls(
            problem_set_id=_number(given.get("set", "")),
            subset_id=_number(given.get("subset", "")),
            run_ids=tuple(dict.fromkeys(listed)),
            start=Start(start) if start in set(Start) else None,
            figure=figure_of(given.get("figure", "")),
        )

    def address(self, **changed: Any) -> str:
        """The query string, with something changed."""
        asked = replace(self, **changed)
        pairs: list[tuple[str, str]] = []
        for name, value in (("set", asked.problem_set_id), ("subset", asked.subset_id), ("start", asked.start)):
            if value is not None:
                pairs.append((name, str(value)))
        if asked.run_ids:
            pairs.append(("run", ",".join(map(str, asked.run_ids))))
        if asked.figure is not Figure.ISR:
            pairs.append(("figure", asked.figure.value))
        return urlencode(pairs, safe=",")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run with a share for each difficulty, and for all of them at the end."""

    refined: RefinedRun
    shares: tuple[Share, ...]
    unfinished: int
    """Trajectories without a verdict, cut short, or under way."""


@dataclass(frozen=True, slots=True)
class RefinedView:
    """The table. `tiers` names its columns; runs that reason come first, then those with the hint."""

    found: RefinedRuns
    query: RefinedQuery
    tiers: tuple[str, ...]
    rows: tuple[RunRow, ...]


def refined_view(session: Session, asked: RefinedQuery) -> RefinedView | None:
    """The table of the set asked for, else of the newest run's; None where there are no runs at all.

    Raises NotFoundError.
    """
    problem_set_id = asked.problem_set_id or newest_set(session)
    if problem_set_id is None:
        return None
    found = refined_runs(session, problem_set_id, asked.start, asked.run_ids, asked.subset_id)
    tiers = ordered_tiers(tier for one in found.runs for tier in one.tiers)
    rows = []
    for one in sorted(found.runs, key=_group):
        counts = [*(one.tiers.get(tier) for tier in tiers), together(one.tiers.values())]
        whole = counts[-1]
        unfinished = 0 if whole is None else whole.outside + sum(whole.cut)
        rows.append(RunRow(one, tuple(share_of(counted, asked.figure) for counted in counts), unfinished))
    query = replace(asked, problem_set_id=problem_set_id)
    return RefinedView(found, query, (*map(tier_name, tiers), "all"), tuple(rows))


def document(view: RefinedView) -> dict[str, Any]:
    """All of it as data. Shares are fractions; None is undefined, or the endpoint's default."""
    problem_set = view.found.problem_set
    return {
        "problem_set": {"id": problem_set.id, "name": problem_set.name, "version": problem_set.version},
        "start": view.found.start,
        "subset": next((asdict(one) for one in view.found.subsets if one.id == view.query.subset_id), None),
        "subsets": [asdict(subset) for subset in view.found.subsets],
        "left_out": view.found.left_out,
        "runs": [_run_document(row.refined) for row in view.rows],
    }


def csv_rows(view: RefinedView) -> list[list[Any]]:
    """A row a run and difficulty, and one of all difficulties."""
    told = document(view)
    subset = None if told["subset"] is None else f"{told['subset']['name']} v{told['subset']['version']}"
    rows = []
    for run in told["runs"]:
        for tier in run["tiers"]:
            flat = run | tier | {"subset": subset}
            for figure in Figure:
                share = tier[figure.value]
                flat |= {figure.value: share["estimate"]}
                flat |= {f"{figure.value}_low": share["low"], f"{figure.value}_high": share["high"]}
            rows.append([flat.get(name) for name in CSV_HEADER])
    return rows


def _run_document(one: RefinedRun) -> dict[str, Any]:
    run = one.run
    tiers = [(tier_name(tier), one.tiers[tier]) for tier in ordered_tiers(one.tiers)]
    whole = together(one.tiers.values())
    if whole is not None:
        tiers.append(("all", whole))
    return {
        "run": run.id,
        "model": one.model_name,
        "reasoning": one.reasoning,
        "hint": run.protocol.hint,
        "prompts": run.protocol.prompts,
        "temperature": one.sampling.temperature,
        "top_p": one.sampling.top_p,
        "attempts": run.protocol.attempts,
        "status": run.status,
        "tiers": [
            {
                "tier": name,
                "n": counted.of,
                "without_verdict": counted.outside,
                "cut_short": sum(counted.cut),
                **{figure.value: asdict(share_of(counted, figure)) for figure in Figure},
            }
            for name, counted in tiers
        ],
    }


def _group(one: RefinedRun) -> tuple[int, bool, int]:
    """Those that reason, those that do not, those not marked; within them without and with the hint; newest first."""
    marked = {True: 0, False: 1, None: 2}
    return marked[one.reasoning], one.run.protocol.hint, -one.run.id


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) <= LARGEST_ID else None

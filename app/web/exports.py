"""A run as files: every attempt as CSV, JSON, JSON Lines and Parquet, its chart as SVG and PNG, and BibTeX."""

import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.db.queries.exports import WholeAttempt, WholeTrajectory, whole_trajectories
from app.db.queries.figures import computed_figures
from app.db.queries.labels import trajectory_label
from app.db.queries.recordings import made_at
from app.db.queries.run import RunHead, run_head
from app.db.session import Database
from app.domain.errors import InputError
from app.domain.metrics.figures import METRICS_VERSION, RunFigures
from app.domain.protocol.policy import Protocol
from app.judge.judge import JUDGE_VERSION
from app.web import wording
from app.web.board import Line
from app.web.commands import create_command
from app.web.documents import plain
from app.web.drawing import PNG_SCALE, decay_svg, png
from app.web.fits import Fits, band_at, chance_at, fits_of_run
from app.web.latex import run_table, tex
from app.web.methods import run_methods
from app.web.recording_export import recording_lines
from app.web.tables import csv_lines
from app.web.whole_run import COLUMNS, MEASURED, attempt_rows, run_document, run_line, texts_of


class ExportFormat(StrEnum):
    """What a run can be written as."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"
    SVG = "svg"
    PNG = "png"
    BIBTEX = "bibtex"
    LATEX = "latex"
    METHODS = "methods"


@dataclass(frozen=True, slots=True)
class Export:
    """How a run is written. `parts` reads it, and raises NotFoundError before it gives the first part."""

    suffix: str
    media_type: str
    parts: Callable[[Database, int], Iterable[bytes]]


def _csv(db: Database, run_id: int) -> Iterable[bytes]:
    head = _head(db, run_id)

    def parts() -> Iterator[bytes]:
        with db.read() as session:
            trajectories = whole_trajectories(session, run_id, texts=False)
            for text in csv_lines(tuple(COLUMNS), (row for one in trajectories for row in attempt_rows(head, one))):
                yield text.encode()

    return parts()


def _json(db: Database, run_id: int) -> Iterable[bytes]:
    head = _head(db, run_id)

    def parts() -> Iterator[bytes]:
        with db.read() as session:
            opening = json.dumps(run_document(session, head), default=plain, indent=1)
            yield (opening.removesuffix("\n}") + ',\n "trajectories": [').encode()
            for number, one in enumerate(whole_trajectories(session, run_id, texts=True)):
                text = json.dumps(_trajectory_document(head, one), default=plain)
                yield ((",\n  " if number else "\n  ") + text).encode()
        yield b"\n ]\n}\n"

    return parts()


def _trajectory_document(head: RunHead, one: WholeTrajectory) -> dict[str, Any]:
    trajectory = one.trajectory
    return {
        "trajectory": trajectory.id,
        "label": trajectory_label(one.problem_key, one.buggy_key),
        "position": trajectory.position,
        "sample": trajectory.sample,
        "problem": one.problem_key,
        "buggy_program": one.buggy_key,
        "outcome": trajectory.outcome,
        "outcome_reason": trajectory.outcome_reason,
        "solved_at": trajectory.solved_at,
        "attempts_judged": trajectory.attempts_judged,
        "sandbox_failures": trajectory.sandbox_failures,
        "attempts": [_attempt_document(head, one, whole) for whole in one.attempts],
    }


def _attempt_document(head: RunHead, one: WholeTrajectory, whole: WholeAttempt) -> dict[str, Any]:
    attempt = whole.attempt
    return {
        "attempt": attempt.attempt_index,
        "attempt_id": attempt.id,
        "counts": one.counts(attempt),
        **{name: getattr(attempt, name) for name in MEASURED},
        "superseded": [
            {"verdict": old.verdict, "judge_version": old.judge_version, "judged_at": old.judged_at}
            for old in whole.superseded
        ],
        **texts_of(head, whole),
    }


def _parquet(db: Database, run_id: int) -> Iterable[bytes]:
    missing = parquet_missing()
    if missing is not None:
        raise InputError(missing)
    # Takes long to load and much memory, and is there only where somebody wanted it.
    from app.web.parquet import parquet_parts

    return parquet_parts(db, run_id)


def parquet_missing() -> str | None:
    """How to get what writes Parquet, in words; None where it is there."""
    if importlib.util.find_spec("pyarrow") is not None:
        return None
    return "Parquet is written by pyarrow, which is not installed; to add it: .venv/bin/pip install 'halflife[parquet]'"


def _svg(db: Database, run_id: int) -> Iterable[bytes]:
    return [_chart(db, run_id).encode()]


def _png(db: Database, run_id: int) -> Iterable[bytes]:
    return [png(_chart(db, run_id), scale=PNG_SCALE)]


def _chart(db: Database, run_id: int) -> str:
    with db.read() as session:
        head = run_head(session, run_id)
        figures = computed_figures(session, run_id, JUDGE_VERSION)
    problem_set = head.problem_set
    return run_chart(
        figures,
        head.run.protocol,
        f"{head.endpoint.name} on {problem_set.name}",
        f"{problem_set.name}, version {problem_set.version} ({problem_set.content_hash[:12]})",
        f"judge {wording.version(head.run.judge_version)} · run {run_id}",
    )


def run_chart(figures: RunFigures, policy: Protocol, title: str, problem_set: str, origin: str) -> str:
    """A run's decay chart as SVG, with its figures and where they come from."""
    facts = [
        problem_set,
        wording.count(figures.decay.n, "problem"),
        f"E0 {_percent(figures.decay.e0.estimate)}",
        f"final accuracy {_percent(figures.decay.final_accuracy.estimate)}",
        f"λ {wording.rate(figures.decay)}",
        origin,
    ]
    if figures.left_unfinished:
        facts.append(f"{figures.left_unfinished:,} not finished")
    return decay_svg(fits_of_run(figures), policy, title, facts)


POINTS_HEADER = (
    "attempt", "solved", "at_risk", "effectiveness", "effectiveness_low", "effectiveness_high", "fit", "careful",
    "careful_low", "careful_high", "careful_debugging",
)  # fmt: skip


def points(found: Fits) -> Iterator[list[Any]]:
    """What the decay chart shows, a row an attempt. Shares are fractions."""
    index = found.published
    for point in index.points:
        share = point.hazard
        fit = None
        if index.intercept is not None and index.lambda_ is not None:
            fit = index.intercept * math.exp(-index.lambda_ * point.attempt) / 100
        band = band_at(found.careful, point.attempt)
        yield [
            point.attempt, point.solved, point.at_risk, share.estimate, share.low, share.high, fit,
            chance_at(found.careful, point.attempt), band and band.low, band and band.high,
            chance_at(found.debugging, point.attempt),
        ]  # fmt: skip


def _bibtex(db: Database, run_id: int) -> Iterable[bytes]:
    with db.read() as session:
        head = run_head(session, run_id)
        created_at, finished_at = made_at(session, head.run)
    run, problem_set = head.run, head.problem_set
    ended = finished_at or created_at
    date = "" if ended is None else f"  year = {{{ended:%Y}}},\n  month = {{{ended:%m}}},\n"
    title = f"{head.endpoint.name} on {problem_set.name}, version {problem_set.version}: a run of Halflife"
    note = (
        f"Run {run.id}, problem set {problem_set.content_hash[:16]}, judge {wording.version(run.judge_version)},"
        f" prompts {wording.version(run.prompts_version)}, metrics {METRICS_VERSION}."
        f" Repeat it by: {create_command(head)}"
    )
    return [
        f"@misc{{halflife-run-{run.id},\n  title = {{{tex(title)}}},\n{date}"
        f"  note = {{{tex(note)}}}\n}}\n\n{_PAPERS}".encode()
    ]


def _latex(db: Database, run_id: int) -> Iterable[bytes]:
    head, line = _line(db, run_id)
    return [run_table(head, line).encode()]


def _methods(db: Database, run_id: int) -> Iterable[bytes]:
    _, line = _line(db, run_id)
    return [run_methods(line).encode()]


def _line(db: Database, run_id: int) -> tuple[RunHead, Line]:
    with db.read() as session:
        head = run_head(session, run_id)
        return head, run_line(session, head)


_PAPERS = """@article{adnan2025debugging,
  title = {The Debugging Decay Index: Rethinking Debugging Strategies for Code {LLMs}},
  author = {Adnan, Muntasir and Kuhn, Carlos C. N.},
  year = {2025},
  journal = {arXiv preprint arXiv:2506.18403},
  eprint = {2506.18403},
  archiveprefix = {arXiv}
}

@article{wilson1927probable,
  title = {Probable Inference, the Law of Succession, and Statistical Inference},
  author = {Wilson, Edwin B.},
  year = {1927},
  journal = {Journal of the American Statistical Association},
  volume = {22},
  number = {158},
  pages = {209--212}
}
"""
"""Where E0, λ, R², half-life and t_θ come from, and the intervals beside them."""

EXPORTS = {
    ExportFormat.CSV: Export("csv", "text/csv; charset=utf-8", _csv),
    ExportFormat.JSON: Export("json", "application/json", _json),
    ExportFormat.JSONL: Export("jsonl", "application/jsonl", recording_lines),
    ExportFormat.PARQUET: Export("parquet", "application/vnd.apache.parquet", _parquet),
    ExportFormat.SVG: Export("svg", "image/svg+xml", _svg),
    ExportFormat.PNG: Export("png", "image/png", _png),
    ExportFormat.BIBTEX: Export("bib", "application/x-bibtex; charset=utf-8", _bibtex),
    ExportFormat.LATEX: Export("tex", "application/x-tex; charset=utf-8", _latex),
    ExportFormat.METHODS: Export("txt", "text/plain; charset=utf-8", _methods),
}


def _head(db: Database, run_id: int) -> RunHead:
    with db.read() as session:
        return run_head(session, run_id)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"

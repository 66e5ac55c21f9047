"""`halflife problems …`."""

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import select

from app.cli.installation import JsonFlag, emit, installation, note, sandbox_of
from app.datasets.humaneval import humaneval_package
from app.datasets.registry import KNOWN, TESTED_APART, read_problem_set
from app.datasets.starter import starter_set
from app.db.models import ProblemSetRow
from app.domain.errors import InputError
from app.domain.problems import ProblemSet
from app.services.challenge_set import ChallengeRequest, make_challenge_set
from app.services.import_problem_set import ImportReport, import_problem_set

app = typer.Typer(help="Problem sets: import and list.", no_args_is_help=True)


class Builtin(StrEnum):
    """Sets that come with an installed package."""

    STARTER = "starter"
    HUMANEVAL = "humaneval"


@app.command("import")
def import_(
    path: Annotated[Path | None, typer.Argument(help="The file; leave out with --builtin.")] = None,
    format: Annotated[str | None, typer.Option(help=f"One of: {', '.join(KNOWN)}.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the set; the file's own name when left out.")] = None,
    tests: Annotated[
        Path | None, typer.Option(help=f"The file of tests, for {', '.join(TESTED_APART)}, whose own file has none.")
    ] = None,
    builtin: Annotated[Builtin | None, typer.Option(help="A set from an installed package.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a problem set, try every reference and buggy program in the sandbox, and store what is sound."""
    problem_set = _read(path, format, name, builtin, tests)
    with installation() as opened, sandbox_of(opened.settings) as sandbox:
        report = import_problem_set(
            opened.db,
            sandbox,
            problem_set,
            slots=opened.settings.execute_slots,
            progress=_progress,
        )
    for rejection in report.rejected:
        note(f"left out: {rejection.key}: {rejection.reason}")
    emit(asdict(report), as_json, _text(report))


@app.command("challenge")
def challenge(
    runs: Annotated[str, typer.Option(help="Ids of runs of one problem set: 1,2,3.")],
    size: Annotated[int, typer.Option(help="How many problems.")],
    name: Annotated[str, typer.Option(help="Name of the new set; a set of that name gets a new version.")],
    as_json: JsonFlag = False,
) -> None:
    """Make a problem set of what runs failed most at their first attempts; ties are broken by key."""
    words = runs.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise InputError(f"--runs: ids separated by commas, such as 1,2,3, not {runs!r}")
    with installation() as opened:
        report = make_challenge_set(opened.db, ChallengeRequest([int(word) for word in words], size, name))
    emit(asdict(report), as_json, _text(report))


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the problem sets with their versions."""
    with installation() as opened, opened.db.read() as session:
        rows = session.scalars(select(ProblemSetRow).order_by(ProblemSetRow.name, ProblemSetRow.version)).all()
    documents = [
        {
            "id": row.id,
            "name": row.name,
            "version": row.version,
            "content_hash": row.content_hash,
            "problems": row.problem_count,
            "licence": row.licence,
        }
        for row in rows
    ]
    text = "\n".join(f"{row.name} v{row.version}  {row.problem_count} problems  {row.content_hash[:8]}" for row in rows)
    emit(documents, as_json, text or "No problem sets yet: import one with `halflife problems import`.")


def _read(
    path: Path | None, format: str | None, name: str | None, builtin: Builtin | None, tests: Path | None
) -> ProblemSet:
    if (path is None) == (builtin is None):
        raise InputError("give either a file or --builtin")
    if builtin is not None and tests is not None:
        raise InputError("--tests: a built-in set has its own")
    if builtin is Builtin.STARTER:
        return starter_set() if name is None else replace(starter_set(), name=name)
    if path is None:
        return read_problem_set(humaneval_package(), format="humaneval", name=name or "humaneval")
    if format is None:
        raise InputError(f"--format: say which format the file has, one of {', '.join(KNOWN)}")
    apart = None if tests is None else _content(tests)
    name = name or path.name.split(".")[0].lower()
    return read_problem_set(_content(path), format=format, name=name, tests=apart)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _progress(done: int, total: int) -> None:
    if done == total or done % 50 == 0:
        note(f"tried {done} of {total} problems")


def _text(report: ImportReport) -> str:
    state = "stored" if report.created else "there already, unchanged"
    lines = [
        f"{report.name} version {report.version} ({report.content_hash[:8]}): {state}",
        f"{report.problems} problems, {report.buggy_programs} buggy programs, {len(report.rejected)} items left out",
    ]
    if report.weak:
        lines.append(f"weak verdicts (tests share the program's process): {', '.join(report.weak)}")
    return "\n".join([*lines, *report.notes])

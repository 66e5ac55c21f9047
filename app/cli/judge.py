"""`halflife judge`: one program judged here and now, with all the evidence."""

from dataclasses import asdict, replace
from typing import Annotated

import typer
from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.cli.chosen import problem_set_id, program_at
from app.cli.installation import Installation, JsonFlag, emit, installation, sandbox_of
from app.config import SandboxChoice
from app.db.models import ProblemRow
from app.domain.errors import InputError, NotFoundError
from app.domain.problems import Problem
from app.domain.verdicts import FirstFailure, Judgement
from app.judge.judge import LANGUAGES, Judge
from app.web.text import printable

SHOWN_LINES = 20
"""Lines of output that are shown of its head and of its tail; --json has all that was kept."""


def judge(
    file: Annotated[str, typer.Argument(help="The program: a file, a folder of files, or - for standard input.")],
    problems: Annotated[str, typer.Option(help="Problem set, its latest version; NAME@VERSION for another.")],
    problem: Annotated[str, typer.Option(help="Key of the problem.")],
    sandbox: Annotated[
        SandboxChoice | None, typer.Option(help="The isolation; HALFLIFE_SANDBOX when left out.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="The program's; the problem's when left out.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Judge one program, always anew: no server is needed, nothing is stored, and no earlier verdict is looked up.

    Every case is shown, hidden ones too. The exit code is 0 once there is a verdict, whichever it is; 2 where the
    program or the problem cannot be had; 1 where the sandbox cannot be had or failed.
    """
    with installation() as opened:
        asked = _problem(opened, problems, problem)
        chosen = asked.language if language is None else language
        if chosen not in LANGUAGES:
            raise InputError(f"--language: {chosen} programs cannot be judged, only {', '.join(LANGUAGES)}")
        if chosen != asked.language:
            raise InputError(f"--language: {problem} asks for a program in {asked.language}, not {chosen}")
        program = program_at(file, chosen)
        settings = opened.settings.model_copy(update={} if sandbox is None else {"sandbox": sandbox})
        with sandbox_of(settings, slots=1) as isolated:
            judgement = Judge(isolated).judge(
                program,
                tests=asked.tests,
                entry_point=asked.entry_point,
                limits=asked.limits,
                language=chosen,
            )
    emit(asdict(judgement), as_json, _text(judgement))


def _problem(opened: Installation, problems: str, key: str) -> Problem:
    chosen = problem_set_id(opened, problems)
    with opened.db.read() as session:
        row = session.scalar(
            select(ProblemRow)
            .where(ProblemRow.problem_set_id == chosen, ProblemRow.key == key)
            .options(undefer(ProblemRow.definition))
        )
    if row is None:
        raise NotFoundError(f"{problems} has no problem {key!r}")
    definition: Problem = row.definition
    return replace(definition, buggy_programs=())


def _text(judgement: Judgement) -> str:
    passed = f"{judgement.cases_passed} of {judgement.cases_total} passed, {judgement.cases_run} run"
    lines = [f"{judgement.verdict} ({judgement.reason.replace('_', ' ')}): {passed}"]
    if judgement.weak:
        lines.append("weak: the tests had to run in the program's own process")
    if judgement.near_limit:
        lines.append("near the time limit: on another machine it may get another verdict")
    if judgement.first_failure is not None:
        lines += _failure(judgement.first_failure)
    if judgement.signal is not None:
        lines.append(f"ended by signal {judgement.signal}")
    elif judgement.exit_code:
        lines.append(f"ended with exit code {judgement.exit_code}")
    lines.append(
        f"CPU {judgement.cpu_ms:.0f} ms, wall {judgement.wall_ms:.0f} ms, peak memory"
        f" {judgement.peak_memory_kb / 1024:.1f} MB (limit by {judgement.memory_tier})"
    )
    lines.append(f"sandbox {judgement.sandbox}, judge {judgement.judge_version}")
    for name, output in (("stdout", judgement.stdout), ("stderr", judgement.stderr)):
        if output:
            lines += [f"{name}:", *(f"  {line}" for line in _ends(output))]
    return printable("\n".join(lines))


def _failure(failure: FirstFailure) -> list[str]:
    parts = {"input": failure.input, "expected": failure.expected, "actual": failure.actual, "error": failure.error}
    # What the compiler refuses belongs to no case.
    of_a_case = failure.input or failure.expected is not None
    hidden = "" if failure.visible else " (hidden from models)"
    lines = [f"first failing case: {failure.index}{hidden}"] if of_a_case else []
    for name, text in parts.items():
        if text:
            head, *rest = text.rstrip("\n").split("\n")
            lines += [f"  {name:<8}  {head}", *(f"            {line}" for line in rest)]
    return lines


def _ends(output: str) -> list[str]:
    lines = output.rstrip("\n").split("\n")
    left_out = len(lines) - 2 * SHOWN_LINES
    if left_out <= 0:
        return lines
    return [*lines[:SHOWN_LINES], f"… {left_out} more lines …", *lines[-SHOWN_LINES:]]

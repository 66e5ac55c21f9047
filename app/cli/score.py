"""`halflife score`: one repair of a buggy program scored here and now, bug by bug."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from app.cli.chosen import ChosenItem, chosen_item, program_at
from app.cli.installation import JsonFlag, emit, installation, sandbox_of
from app.domain.edits.matching import Rules
from app.domain.errors import InputError
from app.domain.programs import Program
from app.domain.protocol.edit_replies import Form, Repair, read_repair
from app.domain.text import count
from app.services.judge_program import CachedJudge
from app.services.score_attempt import ScoredRepair, score_attempt
from app.web.text import printable
from app.web.three_way import block_name


def score(
    file: Annotated[str, typer.Argument(help="The repaired program: a file, a folder, or - for standard input.")],
    problems: Annotated[str, typer.Option(help="Problem set, its latest version; NAME@VERSION for another.")],
    item: Annotated[str, typer.Option(help="The buggy program: its key, or PROBLEM/KEY where several have it.")],
    epsilon: Annotated[
        int | None, typer.Option(min=0, help="Edits a bug that may be needed beyond its own; the set's when left out.")
    ] = None,
    reply: Annotated[
        bool, typer.Option("--reply", help="FILE is a model's reply: a program, a diff or search/replace blocks in it.")
    ] = False,
    compat: Annotated[bool, typer.Option("--compat", help="Score as the paper's published code does.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Score a repair: precision by its edits, recall by the known bugs, and what became of each bug.

    Blocks of its edits are named A, B, … from the top; with --json a bug's `block` is the index, from 0, of one of
    `blocks`. Programs are tried in the sandbox, or looked up where they were tried before. The exit code is 0 once
    there is a score, whichever it is; 2 where the program or the item cannot be had; 1 where the sandbox cannot be had
    or failed.
    """
    with installation() as opened:
        chosen = chosen_item(opened, problems, item)
        repair = _repair(file, chosen, reply=reply)
        slots = opened.settings.execute_slots
        with sandbox_of(opened.settings, slots=slots) as sandbox:
            scored = score_attempt(
                opened.db,
                CachedJudge(opened.db, sandbox),
                chosen.problem,
                chosen.tests_hash,
                chosen.buggy,
                repair.program or chosen.buggy.program,
                slots=slots,
                epsilon=epsilon,
                rules=Rules.PUBLISHED_CODE if compat else Rules.PAPER,
            )
    emit(_document(chosen, repair, scored), as_json, _text(chosen, repair, scored))


def _repair(file: str, chosen: ChosenItem, *, reply: bool) -> Repair:
    given = program_at(file, chosen.problem.language)
    if not reply:
        return Repair(_placed(given, chosen.buggy.program), Form.PROGRAM)
    if len(given.files) > 1:
        raise InputError(f"{file}: a reply is one file")
    return read_repair(given.source, chosen.buggy.program, chosen.problem.entry_point, chosen.problem.language)


def _placed(repaired: Program, buggy: Program) -> Program:
    """A single file takes the place of the buggy program's only one, whatever its name is."""
    if len(repaired.files) > 1:
        return repaired
    if len(buggy.files) > 1:
        raise InputError(f"the buggy program has {len(buggy.files)} files: give a folder with all of them")
    (path,) = buggy.files
    return Program({path: repaired.source})


def _document(chosen: ChosenItem, repair: Repair, scored: ScoredRepair) -> dict[str, Any]:
    behind = asdict(scored)
    names = {"problem": chosen.problem.key, "item": chosen.buggy.key}
    read = {"form": repair.form, "obstacle": repair.obstacle, "part": repair.part}
    return {**names, **behind.pop("score"), **behind, **read}


def _text(chosen: ChosenItem, repair: Repair, scored: ScoredRepair) -> str:
    found = scored.score
    lines = []
    if repair.obstacle is not None:
        part = "" if repair.part is None else f", edit {repair.part}"
        lines.append(f"the reply repairs nothing: {repair.obstacle.replace('_', ' ')}{part}")
    lines += [
        f"precision {found.precision:.1%}  recall {found.recall:.1%}  F1 {found.f1:.1%}"
        f"  unit tests {'pass' if found.unit_pass else 'fail'}",
        f"{count(found.edits, 'line edit')}, ε = {found.epsilon}, rules of the {found.rules.replace('_', ' ')}",
    ]
    for number, (bug, known) in enumerate(zip(found.bugs, chosen.buggy.bugs, strict=True), start=1):
        kind = " / ".join(filter(None, (known.odc_class, known.odc_subclass)))
        where = f"line {known.edits[0].line}" + (f", {kind}" if kind else "")
        if bug.block is None:
            lines.append(f"bug {number} ({where}): not touched")
            continue
        state = f"fixed, {bug.essential} essential, credit {bug.credit:g}" if bug.fixed else "not fixed"
        lines.append(f"bug {number} ({where}): {state}; block {block_name(bug.block)}, {bug.rule}")
    for index, block in enumerate(found.blocks):
        span = f"line {block.start}" if block.start == block.end else f"lines {block.start}-{block.end}"
        edits = count(block.size, "line edit")
        lines.append(f"block {block_name(index)}: {block.path}, {span}, {edits}, {block.rule}, credit {block.credit}")
    lines.append(
        f"{count(scored.programs, 'program')} judged, {scored.cached} of them known, {scored.cpu_seconds:g} s CPU each"
    )
    if scored.weak:
        lines.append("weak: the tests had to run in the programs' own process")
    if scored.near_limit:
        lines.append(
            f"near the time limit: {count(scored.near_limit, 'program')}, which another machine may judge otherwise"
        )
    return printable("\n".join(lines))

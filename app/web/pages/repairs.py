"""Precise debugging of one run: its figures, its items, and each repair beside the known one."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse
from pydantic import BaseModel

from app.db.queries.precision import ItemState, RepairItem, repair_items, repair_summary
from app.db.queries.repair_item import RepairedItem, repaired_item, scored_bugs
from app.db.queries.run import run_head
from app.db.session import Database
from app.domain.edits.blocks import Block, blocks
from app.domain.edits.diff import edit_script
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.services.audit_repair import audit_repair
from app.web import repairs as shown
from app.web.deps import RowId, State
from app.web.rendering import render
from app.web.repairs import RepairQuery
from app.web.rounds import rounds_drawing
from app.web.tables import csv_lines
from app.web.three_way import Gap, Row, block_name, folded, three_way
from app.web.whole_run import run_line

router = APIRouter(prefix="/runs/{run_id}/precision")

MARKS = {"valid": True, "not": False, "none": None}
"""What a person may say of a repair, by the value of the form."""


class AuditForm(BaseModel):
    """The form as typed."""

    mark: str = ""
    note: str = ""


@router.get("")
def show_repairs(request: Request, state: State, run_id: RowId) -> Response:
    """The figures of a run that starts from buggy programs, and its items; the address holds every choice."""
    query = RepairQuery.read(request.query_params)
    with state.db.read() as session:
        head = run_head(session, run_id)
        summary = repair_summary(session, run_id, query.round)
        items = repair_items(session, run_id, query.round, query.after, query.wanted)
        line = run_line(session, head)
    context = {
        "head": head,
        "run": head.run,
        "summary": summary,
        "line": line,
        "items": items,
        "query": query,
        "path": f"/runs/{run_id}/precision",
        "drawing": rounds_drawing(summary.by_round),
        "shown": shown,
        "scored": ItemState.SCORED,
    }
    return render(request, "pages/repairs.html", context)


@router.get("/items.csv")
def items_as_csv(request: Request, state: State, run_id: RowId) -> StreamingResponse:
    """A row an item, all of them or those that the address narrows it to, as of its round."""
    query = RepairQuery.read(request.query_params)
    with state.db.read() as session:
        run_head(session, run_id)
    return _csv(f"halflife-run-{run_id}-items.csv", shown.ITEMS_HEADER, _item_rows(state.db, run_id, query))


@router.get("/bugs.csv")
def bugs_as_csv(state: State, run_id: RowId) -> StreamingResponse:
    """A row a bug and round, of everything that is scored."""
    with state.db.read() as session:
        run_head(session, run_id)

    def rows() -> Iterator[Sequence[Any]]:
        with state.db.read() as session:
            yield from shown.bug_rows(run_id, scored_bugs(session, run_id))

    return _csv(f"halflife-run-{run_id}-bugs.csv", shown.BUGS_HEADER, rows())


@router.get("/rounds.csv")
def rounds_as_csv(state: State, run_id: RowId) -> StreamingResponse:
    """A row a round: what the charts show."""
    with state.db.read() as session:
        summary = repair_summary(session, run_id)
    return _csv(f"halflife-run-{run_id}-rounds.csv", shown.ROUNDS_HEADER, shown.round_rows(summary))


@router.get("/{trajectory_id}")
def show_item(
    request: Request, state: State, run_id: RowId, trajectory_id: RowId, round: str = "", lines: str = ""
) -> Response:
    """One repair bug by bug, and line by line beside the buggy program and the known repair."""
    with state.db.read() as session:
        item = repaired_item(session, run_id, trajectory_id, _round(round))
    return _item_page(request, item, lines == "all", AuditForm(), {})


@router.post("/{trajectory_id}")
def mark_item(
    request: Request,
    state: State,
    run_id: RowId,
    trajectory_id: RowId,
    form: Annotated[AuditForm, Form()],
    round: str = "",
) -> Response:
    """Mark a repair as a valid alternative, or not, or take the mark back."""
    with state.db.read() as session:
        item = repaired_item(session, run_id, trajectory_id, _round(round))
    errors: dict[str, str] = {}
    if item.repair is None:
        raise NotFoundError(f"run {run_id} has no repair to mark here")
    if form.mark not in MARKS:
        errors["mark"] = "choose one of the three"
    else:
        attempt = item.repair.attempt
        try:
            audit_repair(state.db, run_id, attempt.id, valid_alternative=MARKS[form.mark], note=form.note)
        except InputError as error:
            errors["note"] = str(error).removeprefix("note: ")
        except ConflictError as error:
            errors["mark"] = str(error)
        else:
            where = urlencode({"round": attempt.attempt_index + 1})
            return RedirectResponse(f"/runs/{run_id}/precision/{trajectory_id}?{where}#audit", status_code=303)
    return _item_page(request, item, False, form, errors, status=422)


def _item_page(
    request: Request,
    item: RepairedItem,
    whole: bool,
    form: AuditForm,
    errors: dict[str, str],
    *,
    status: int = 200,
) -> Response:
    repair = item.repair
    predicted: Sequence[Block] = ()
    if repair is not None and repair.program is not None:
        predicted = blocks(edit_script(item.buggy.program, repair.program))
    context = {
        "item": item,
        "run": item.head.run,
        "head": item.head,
        "repair": repair,
        "truth": item.buggy.truth,
        "predicted": predicted,
        # Scripts differ between versions of Python: then the stored blocks are others than those drawn.
        "as_scored": repair is None
        or repair.score is None
        or _places(predicted) == _stored_places(repair.score.blocks),
        "views": _views(item, predicted, whole),
        "whole": whole,
        "block_name": block_name,
        "rules": shown.RULES,
        "obstacles": shown.OBSTACLES,
        "form": form,
        "errors": errors,
    }
    return render(request, "pages/repair.html", context, status_code=status)


def _views(item: RepairedItem, predicted: Sequence[Block], whole: bool) -> list[tuple[str, list[Row | Gap]]]:
    """The files that either repair touches, by path."""
    truth = item.buggy.truth
    paths = sorted({block.path for block in (*truth, *predicted)})
    rows = [(path, three_way(item.buggy.program, path, truth, predicted)) for path in paths]
    return [(path, list(found if whole else folded(found))) for path, found in rows]


def _places(found: Sequence[Block]) -> list[tuple[str, int, int, int]]:
    return [(block.path, block.start, block.end, len(block)) for block in found]


def _stored_places(stored: Sequence[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    return [(block["path"], block["start"], block["end"], block["size"]) for block in stored]


def _item_rows(db: Database, run_id: int, query: RepairQuery) -> Iterator[Sequence[Any]]:
    def items() -> Iterator[RepairItem]:
        after: int | None = None
        while True:
            with db.read() as session:
                page = repair_items(session, run_id, query.round, after, query.wanted)
            yield from page.rows
            if page.next_after is None:
                return
            after = page.next_after

    return shown.item_rows(run_id, items())


def _csv(name: str, header: Sequence[str], rows: Iterator[Sequence[Any]]) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(csv_lines(header, rows), media_type="text/csv; charset=utf-8", headers=headers)


def _round(text: str) -> int | None:
    """From 0; the address counts from 1."""
    return int(text) - 1 if text.isascii() and text.isdecimal() and 0 < len(text) < 4 and int(text) else None

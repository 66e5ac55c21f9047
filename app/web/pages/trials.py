"""Trying a program on a problem: it is judged by an execute worker, and its page shows all the evidence."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from app.db.queries.problem_sets import problem_detail
from app.db.queries.trials import TrialView, trial_view
from app.domain.errors import InputError, NotFoundError
from app.domain.programs import Program
from app.domain.work import WorkerKind
from app.services.judge_program import restore
from app.services.judging_jobs import submit_trial
from app.web.deps import AppState, RowId, State
from app.web.documents import trial_status
from app.web.pages.problem_sets import problem_context
from app.web.rendering import render

router = APIRouter(prefix="/problem-sets/{problem_set_id}/problems/{problem_id}/trials")


@router.post("")
def try_program(
    request: Request, state: State, problem_set_id: RowId, problem_id: RowId, program: Annotated[str, Form()] = ""
) -> Response:
    """Queue the program and go to its page, or show the problem again with what is wrong."""
    source = program.replace("\r\n", "\n")  # as forms send every line end
    try:
        trial_id = submit_trial(state.db, problem_set_id, problem_id, Program.single(source))
    except InputError as error:
        context = problem_context(state, problem_set_id, problem_id)
        context |= {"source": source, "error": str(error)}
        return render(request, "pages/problem.html", context, status_code=422)
    state.queue.wake(WorkerKind.EXECUTE)
    return RedirectResponse(_address(problem_set_id, problem_id, trial_id), status_code=303)


@router.get("/{trial_id}")
def show_trial(request: Request, state: State, problem_set_id: RowId, problem_id: RowId, trial_id: RowId) -> Response:
    """The trial's page."""
    return render(request, "pages/trial.html", _context(state, problem_set_id, problem_id, trial_id))


@router.get("/{trial_id}/verdict")
def verdict_part(request: Request, state: State, problem_set_id: RowId, problem_id: RowId, trial_id: RowId) -> Response:
    """The part of the page that waits for the verdict."""
    return render(request, "partials/trial_verdict.html", _context(state, problem_set_id, problem_id, trial_id))


def _context(state: AppState, problem_set_id: int, problem_id: int, trial_id: int) -> dict[str, Any]:
    with state.db.read() as session:
        detail = problem_detail(session, problem_set_id, problem_id)
        trial = trial_view(session, trial_id)
    if trial.problem_id != problem_id:
        raise NotFoundError(f"problem {problem_id} has no trial {trial_id}")
    return {
        "detail": detail,
        "problem": detail.problem,
        "problem_id": problem_id,
        "trial": trial,
        "status": trial_status(trial),
        "judgement": None if trial.judgement is None else restore(trial.judgement),
        "address": _address(problem_set_id, problem_id, trial_id),
        "source": _source(trial),
        "error": None,
    }


def _source(trial: TrialView) -> str:
    """The text that is tried again; only a trial over the API has more files than one."""
    return next(iter(trial.program.values()), "")


def _address(problem_set_id: int, problem_id: int, trial_id: int) -> str:
    return f"/problem-sets/{problem_set_id}/problems/{problem_id}/trials/{trial_id}"

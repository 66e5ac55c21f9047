"""Trying programs over the API."""

from typing import Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, model_validator

from app.db.queries.trials import trial_view
from app.domain.programs import Program
from app.domain.work import WorkerKind
from app.services.judging_jobs import submit_trial
from app.web.deps import AppState, RowId, State
from app.web.documents import trial_document

router = APIRouter(prefix="/api", tags=["trials"])


class ProgramIn(BaseModel):
    """A program to be judged: the text of one file as `source`, or several as `files` (path → text)."""

    source: str | None = None
    files: dict[str, str] | None = None

    @model_validator(mode="after")
    def one_of_them(self) -> Self:
        """Refuse both and neither."""
        if (self.source is None) == (self.files is None):
            raise ValueError("give either source or files")
        return self

    def program(self) -> Program:
        """As the judge takes it."""
        return Program.single(self.source or "") if self.files is None else Program(self.files)


@router.post("/problem-sets/{problem_set_id}/problems/{problem_id}/trials", status_code=202)
def try_program(state: State, problem_set_id: RowId, problem_id: RowId, body: ProgramIn) -> dict[str, Any]:
    """Queue a program for a problem. Ask for the trial until it is judged or has failed."""
    trial_id = submit_trial(state.db, problem_set_id, problem_id, body.program())
    state.queue.wake(WorkerKind.EXECUTE)
    return _trial(state, trial_id)


@router.get("/trials/{trial_id}")
def get_trial(state: State, trial_id: RowId) -> dict[str, Any]:
    """One trial, with the judgement and all its evidence once there is one. Hidden cases are marked, not left out."""
    return _trial(state, trial_id)


def _trial(state: AppState, trial_id: int) -> dict[str, Any]:
    with state.db.read() as session:
        return trial_document(trial_view(session, trial_id))

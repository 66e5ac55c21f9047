"""The starter problems in every installation."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import select

from app.datasets.starter import starter_set
from app.db.models import ProblemSetRow
from app.db.session import Database
from app.domain.ports import Sandbox
from app.services.import_problem_set import import_problem_set

STARTER = "starter"


def offer_starter(db: Database, sandbox: Callable[[], AbstractContextManager[Sandbox]], slots: int) -> None:
    """Import the starter problems unless some version of them is there already.

    Raises SandboxError where they cannot be tried.
    """
    with db.read() as session:
        present = session.scalar(select(ProblemSetRow.id).where(ProblemSetRow.name == STARTER).limit(1))
    if present is None:
        with sandbox() as opened:
            import_problem_set(db, opened, starter_set(), slots=slots, progress=lambda _done, _total: None)

"""Pages of what a worker does beside runs, and of links that show nothing, in Chromium: no fault, nothing serious."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy import update

from app.config import Settings
from app.db.models import ProblemImport, RecordingImport, ShareLink
from app.db.session import Database
from app.domain.ports import Sandbox
from app.domain.programs import Program
from app.domain.sharing import Scope
from app.services.chores import Chores
from app.services.import_recording import RecordingRequest
from app.services.judge_program import CachedJudge
from app.services.judging_jobs import submit_trial
from app.services.rejudge_run import start_rejudging
from app.services.share_links import revoke_share_link
from app.services.upload_problem_set import perform_import, submit_import
from app.services.upload_recording import perform_recording, submit_recording
from app.web.shared import create_link
from tests.e2e.conftest import serve
from tests.e2e.visits import wrong_with
from tests.fixtures.earlier_rules import judge_jobs, store_outdated_run
from tests.fixtures.engine import Engine

HALVE = {
    "key": "halve",
    "entry_point": "halve",
    "signature": "def halve(x): ...",
    "reference": "def halve(x):\n    return x / 2\n",
    "cases": [{"arguments": [4], "expected": 2.0}],
}
WRONG = {**HALVE, "key": "wrong", "reference": "def halve(x):\n    return x\n"}
RECORD = {
    "task_id": "a",
    "given_tests": ["assert add(1, 2) == 3"],
    "implementations": ["def add(a, b):\n    return a - b\n"],
    "test_feedback": [[]],
    "is_passing": True,
    "is_solved": True,
}
"""Recorded as solved, which it is not."""
CLOSED = (("This link has expired", 410), ("This link was revoked", 410), ("This link opens nothing", 404))


@dataclass(frozen=True)
class Site:
    """A run by earlier rules judged again, trials and imports, the last of each not begun, and links.

    `pages` have what stands on them by their path; those of `closed` answer with the status given, as they should.
    """

    url: str
    pages: dict[str, str]
    closed: dict[str, int]


@pytest.fixture(scope="module")
def site(sqlite_template: Path, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("chores")
    shutil.copy(sqlite_template, home / "halflife.db")
    settings = Settings(home=home)
    database = Database(settings.database)
    engine = Engine(database, sandbox, home)
    start_rejudging(database, store_outdated_run(engine))
    sources = ("def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n", "pass\n")
    right, wrong = (submit_trial(database, 1, 1, Program.single(source)) for source in sources[:2])
    judge_jobs(engine)
    waiting = submit_trial(database, 1, 1, Program.single(sources[2]))
    imports = Chores(
        database,
        ProblemImport,
        lambda claim: perform_import(database, claim, sandbox, slots=1, stopping=lambda: False),
        tries=3,
        lease_seconds=30.0,
    )
    uploads = [{"problems": [HALVE, WRONG]}, {"problems": [WRONG]}, {"no": 1}, {}]
    queued = [json.dumps(upload).encode() for upload in uploads]
    options = {"file_name": "", "name": "halves", "format": "native", "licence": ""}
    tried = [submit_import(database, content, **options) for content in queued[:3]]
    while imports.perform_next():
        pass
    late = submit_import(database, queued[3], **options)
    recordings = Chores(
        database,
        RecordingImport,
        lambda claim: perform_recording(
            database, claim, CachedJudge(database, sandbox), slots=1, stopping=lambda: False
        ),
        tries=3,
        lease_seconds=30.0,
    )
    request = RecordingRequest("ldb", 1, "own-model", attempts=3, re_execute=True, skip_broken=True)
    files = [f"{json.dumps(RECORD)}\n{{}}\n".encode(), b"{}", b"{} "]
    stored, refused = (submit_recording(database, content, request, file_name="own.jsonl") for content in files[:2])
    while recordings.perform_next():
        pass
    queued_last = submit_recording(database, files[2], request, file_name="own.jsonl")
    run = Scope(run_id=1)
    (expired, first), (revoked, second) = (create_link(database, run, "Closed", None, frozen=True) for _ in range(2))
    revoke_share_link(database, revoked)
    with database.write() as session:
        past = datetime(2026, 1, 1, tzinfo=UTC)
        session.execute(update(ShareLink).where(ShareLink.id == expired).values(expires_at=past))
    trials, uploaded = "/problem-sets/1/problems/1/trials", "/problem-sets/imports"
    closed = (f"/s/{first}", f"/s/{second}", f"/s/{first[:-4]}")
    pages = {
        "/runs/1/rejudgings/1": "4 verdicts of 14 would change",
        f"{trials}/{right}": "Every case passed",
        f"{trials}/{wrong}": "First failing case",
        f"{trials}/{waiting}": "waits for",
        f"{uploaded}/{tried[0]}": "Stored as halves, version 1",
        f"{uploaded}/{tried[1]}": "Nothing was stored",
        f"{uploaded}/{tried[2]}": "unknown field 'no'",
        f"{uploaded}/{late}": "waits for",
        f"/recordings/imports/{stored}": "1 not as recorded",
        f"/recordings/imports/{refused}": "Nothing was stored",
        f"/recordings/imports/{queued_last}": "waits for",
        "/recordings/new": "Latest imports",
        "/runs/2": "Judged otherwise than recorded",
        "/share": "expired",
        **{path: text for path, (text, _) in zip(closed, CLOSED, strict=True)},
    }
    with serve(settings) as url:
        yield Site(url, pages, {path: status for path, (_, status) in zip(closed, CLOSED, strict=True)})
    database.close()


def test_nothing_is_wrong_with_the_pages(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    wrong: list[str] = []
    for path, text in site.pages.items():
        wrong += wrong_with(context, site.url, path, says=text, answers=site.closed.get(path, 200))
    context.close()
    assert wrong == []

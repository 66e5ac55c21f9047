"""Shared links: what they show, what they never show, and how they close."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.fernet import Fernet
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.config import Settings
from app.db.models import Attempt, ProblemRow, ProblemSetRow, Run, ShareLink, Trajectory, Transcript
from app.domain.protocol.policy import Disclosure, Protocol
from app.domain.sharing import Scope, Shown
from app.main import create_app
from app.services.share_links import token_hash
from app.web.shared import create_link
from tests.fixtures.example_data import HOSTILE, store_model, store_run
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words

PROMPT, REPLY, PROGRAM = "the-prompt-text", "the-reply-text", "the_program_text = 1"
HIDDEN_INPUT, VISIBLE_INPUT = "the-hidden-input", "the-visible-input"


@pytest.fixture
def shared(workshop: Workshop) -> Workshop:
    """Run 1: two attempts, failing a hidden and a visible case. Run 2: the same, with all cases disclosed."""
    with workshop.database.write() as session:
        problem_set = session.get_one(ProblemSetRow, workshop.problem_set)
        problems = list(session.scalars(select(ProblemRow).order_by(ProblemRow.position)))
        model = store_model(session, "secretive", price=0.2)
        for disclosure in (Disclosure.VISIBLE, Disclosure.ALL):
            protocol = Protocol(attempts=2, disclosure=disclosure)
            store_run(session, problem_set, problems, model, [("W", "W"), ("A",)], protocol=protocol)
        for transcript in session.scalars(select(Transcript)):
            index = session.get_one(Attempt, transcript.attempt_id).attempt_index
            transcript.messages = [{"role": "user", "content": PROMPT}]
            transcript.reply = REPLY
            transcript.program = {"solution.py": PROGRAM}
            transcript.first_failure = {
                "index": index, "visible": index == 1, "input": VISIBLE_INPUT if index else HIDDEN_INPUT,
                "expected": "1", "actual": "2", "error": None,
            }  # fmt: skip
    return workshop


def make(shared: Workshop, **body: object) -> str:
    """The path of a new link."""
    answer = shared.client.post("/api/share-links", json=body)
    assert answer.status_code == 201, answer.text
    return re.sub(r"^http://[^/]+", "", answer.json()["address"])


@pytest.mark.parametrize("frozen", [True, False])
def test_figures_are_shown_and_no_text_that_was_not_chosen(shared: Workshop, frozen: bool) -> None:
    path = make(shared, run_id=1, frozen=frozen)
    answer = shared.client.get(path)
    assert answer.status_code == 200
    assert "Final accuracy 50.0 %" in words(answer.text)
    assert "halflife runs create" in words(answer.text)
    assert shared.client.get(f"{path}/problems/0").status_code == 404
    for text in (PROMPT, REPLY, PROGRAM, HIDDEN_INPUT, VISIBLE_INPUT, "9f2c", 'href="/runs'):
        assert text not in answer.text
    assert answer.headers["x-robots-tag"].startswith("noindex")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert '<meta name="robots" content="noindex' in answer.text


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize(
    ("show", "seen"),
    [
        (["prompts"], {PROMPT, VISIBLE_INPUT}),
        (["replies"], {REPLY}),
        (["programs"], {PROGRAM}),
        (["programs", "hidden_tests"], {PROGRAM, VISIBLE_INPUT, HIDDEN_INPUT}),
    ],
)
def test_texts_are_shown_as_chosen(shared: Workshop, frozen: bool, show: list[str], seen: set[str]) -> None:
    path = make(shared, run_id=1, frozen=frozen, show=show)
    shown = words(shared.client.get(f"{path}/problems/0").text)
    every = {PROMPT, REPLY, PROGRAM, HIDDEN_INPUT, VISIBLE_INPUT}
    assert {text for text in every if text in shown} == seen
    with shared.database.read() as session:
        row = session.scalars(select(ShareLink)).one()
        stored = str(row.snapshot)
    assert {text for text in every if text in stored} == (seen if frozen else set())


def test_texts_that_quote_hidden_tests_need_these_chosen_too(shared: Workshop) -> None:
    refused = shared.client.post("/api/share-links", json={"run_id": 2, "show": ["replies"]})
    assert refused.status_code == 400
    assert "quote hidden tests" in refused.json()["error"]
    make(shared, run_id=2, show=["replies", "hidden_tests"])


def test_a_system_prompt_of_the_runs_own_is_a_prompt(shared: Workshop) -> None:
    with shared.database.write() as session:
        own = Protocol(attempts=2, system_prompt="the-system-prompt")
        session.execute(update(Run).where(Run.id == 1).values(protocol=own))
    for body in ({"run_id": 1}, {"run_id": 1, "frozen": False}, {"board": "run=1,2"}):
        path = make(shared, **body)
        assert "the-system-prompt" not in shared.client.get(path).text
        assert "the-system-prompt" not in shared.client.get(f"{path}/figures.csv").text
    with shared.database.read() as session:
        assert all("the-system-prompt" not in str(row.snapshot) for row in session.scalars(select(ShareLink)))


def test_a_leaderboard_too_long_for_a_snapshot_is_shared_live(
    shared: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.shared.MOST_FROZEN", 1)
    refused = shared.client.post("/api/share-links", json={"board": "run=1,2"})
    assert (refused.status_code, "narrow it to 1, or share it live" in refused.json()["error"]) == (400, True)
    assert "2 runs" in words(shared.client.get(make(shared, board="run=1,2", frozen=False)).text)
    make(shared, board="run=1")


def test_the_token_is_random_and_only_its_hash_is_stored(shared: Workshop) -> None:
    tokens = {make(shared, run_id=1, frozen=False).removeprefix("/s/") for _ in range(20)}
    assert len(tokens) == 20
    assert {len(token) for token in tokens} == {32}  # 24 bytes, base64
    with shared.database.read() as session:
        rows = session.scalars(select(ShareLink)).all()
    assert {row.token_hash for row in rows} == {token_hash(token) for token in tokens}
    listed = shared.client.get("/share").text + shared.client.get("/api/share-links").text
    assert not any(token in listed or token_hash(token) in listed for token in tokens)


def test_a_snapshot_stays_and_a_live_link_follows(shared: Workshop) -> None:
    frozen, live = make(shared, run_id=1), make(shared, run_id=1, frozen=False)
    board = make(shared, board="run=1,2")
    with shared.database.write() as session:
        session.execute(update(Trajectory).where(Trajectory.run_id == 1).values(outcome="solved", solved_at=0))
    assert "Final accuracy 50.0 %" in words(shared.client.get(frozen).text)
    assert "Final accuracy 100.0 %" in words(shared.client.get(live).text)
    shown = words(shared.client.get(f"{board}?sort=e0&order=asc").text)
    assert "2 runs" in shown
    assert "50.0" in shown
    assert "Not comparable with the others: feedback:" in shown


@pytest.mark.parametrize("frozen", [True, False])
def test_what_a_link_shows_can_be_taken_along(shared: Workshop, frozen: bool) -> None:
    run, board = make(shared, run_id=1, frozen=frozen), make(shared, board="run=1,2", frozen=frozen)
    answer = shared.client.get(f"{run}/figures.csv")
    assert (answer.headers["content-disposition"], answer.headers["cache-control"]) == (
        'attachment; filename="figures.csv"',
        "no-store",
    )
    first, second = csv.DictReader(io.StringIO(answer.text))
    # 1 of 2, then 0 of 1; Wilson's interval of 1 of 2 is 0.0945 – 0.9055, its upper end for 0 of 1 is 0.7935.
    assert [row[name] for row in (first, second) for name in ("attempt", "solved", "at_risk", "effectiveness")] == [
        *("0", "1", "2", "0.5"),
        *("1", "0", "1", "0.0"),
    ]
    assert [first["effectiveness_low"][:6], first["effectiveness_high"][:6]] == ["0.0945", "0.9054"]
    assert [second["effectiveness_low"], second["effectiveness_high"][:6], second["fit"]] == ["0.0", "0.7934", ""]
    # One solve is too few for a careful fit, which is said.
    assert [second[name] for name in ("careful", "careful_low", "careful_debugging")] == ["", "", ""]
    assert "λ, careful fit, all attempts none Too few solves: 1 in these attempts" in words(shared.client.get(run).text)
    drawn = shared.client.get(f"{run}/chart.svg")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert "secretive on Small" in drawn.text
    assert shared.client.get(f"{run}/chart.png").content.startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO(shared.client.get(f"{board}/figures.csv").text)))
    assert {(row["run"], row["accuracy"]) for row in rows} == {("1", "0.5"), ("2", "0.5")}
    # A leaderboard has no such chart.
    assert shared.client.get(f"{board}/chart.svg").status_code == 404


def test_links_close_plainly(shared: Workshop) -> None:
    revoked, expired, deleted, snapshot = (
        make(shared, run_id=1, frozen=frozen) for frozen in (True, False, False, True)
    )
    assert shared.client.post("/api/share-links/1/revoke").status_code == 204
    assert shared.client.post("/api/share-links/1/revoke").status_code == 409
    with shared.database.write() as session:
        past = datetime.now(UTC) - timedelta(seconds=1)
        session.execute(update(ShareLink).where(ShareLink.id == 2).values(expires_at=past))
        session.execute(update(ShareLink).where(ShareLink.id.in_([3, 4])).values(scope=Scope(run_id=999)))
    for path, status, sentence in (
        (revoked, 410, "This link was revoked"),
        (expired, 410, "This link has expired"),
        (deleted, 410, "What this link showed was deleted"),
        (snapshot, 200, "A snapshot of"),
        ("/s/unknown", 404, "This link opens nothing"),
        ("/s/" + "%00" * 40, 404, "This link opens nothing"),
    ):
        answer = shared.client.get(path)
        assert (answer.status_code, sentence in answer.text) == (status, True), path
        assert answer.headers["x-robots-tag"].startswith("noindex")
        assert shared.client.get(f"{path}/card.png").status_code == status
    with shared.database.read() as session:
        assert session.get_one(ShareLink, 1).snapshot is None


def test_the_preview_names_an_absolute_picture(shared: Workshop) -> None:
    path = make(shared, run_id=1, title="How it debugs")
    markup = shared.client.get(path).text
    found = re.search(r'<meta property="og:image" content="([^"]+)"', markup)
    assert found is not None
    assert found[1] == f"http://127.0.0.1:8000{path}/card.png"
    picture = shared.client.get(f"{path}/card.png")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content[16:24] == (1200).to_bytes(4, "big") + (630).to_bytes(4, "big")
    assert '<meta property="og:title" content="How it debugs">' in markup


def test_the_form_makes_a_link_and_the_list_revokes_it(shared: Workshop) -> None:
    form = shared.client.get("/share/new?run=1").text
    assert "secretive on Small, run 1" in form
    made = shared.client.post(
        "/share", data={"run": "1", "title": "T", "days": "7", "kind": "live", "shown": "programs"}
    )
    assert made.status_code == 201
    path = re.search(r"http://127\.0\.0\.1:8000(/s/[\w-]+)<", made.text)
    assert path is not None
    assert shared.client.get(path[1]).status_code == 200
    with shared.database.read() as session:
        row = session.scalars(select(ShareLink)).one()
    assert (row.frozen, row.scope.shown) == (False, ("programs",))
    assert row.expires_at == row.created_at + timedelta(days=7)
    assert shared.client.post(f"/share/{row.id}/revoke").headers["location"] == "/share"
    assert shared.client.get(path[1]).status_code == 410
    refused = shared.client.post("/share", data={"run": "2", "title": "T", "days": "7", "shown": "replies"})
    assert refused.status_code == 422
    assert "quote hidden tests" in refused.text


def test_a_shared_board_keeps_its_problem_set(shared: Workshop) -> None:
    make(shared, board="")
    with shared.database.read() as session:
        scope = session.scalars(select(ShareLink)).one().scope
    assert scope.board == f"set={shared.problem_set}&start=generate"


def test_hostile_texts_are_frozen_and_shown(shared: Workshop) -> None:
    with shared.database.write() as session:
        for transcript in session.scalars(select(Transcript)):
            transcript.reply, transcript.program = HOSTILE, {"solution.py": HOSTILE}
            transcript.messages = [{"role": "user", "content": HOSTILE}]
            transcript.first_failure = {**(transcript.first_failure or {}), "input": HOSTILE, "error": HOSTILE}
    everything = ["prompts", "replies", "programs", "hidden_tests"]
    path = make(shared, run_id=1, show=everything)
    answer = shared.client.get(f"{path}/problems/0")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "\\ud800" in answer.text


def test_a_team_shows_links_to_readers_without_a_login_under_its_own_address(
    shared: Workshop, database_url: str
) -> None:
    address = "https://halflife.example.org"
    settings = Settings(
        home=shared.home,
        database_url=database_url,
        public_url=address,
        password="a long enough password",
        secret_key=Fernet.generate_key().decode(),
    )
    _, token = create_link(shared.database, Scope(run_id=1, shown=(Shown.PROGRAMS,)), "T", 1, frozen=False)
    with TestClient(create_app(settings), base_url=address, follow_redirects=False) as reader:
        page = reader.get(f"/s/{token}")
        assert page.status_code == 200
        assert f'<meta property="og:image" content="{address}/s/{token}/card.png">' in page.text
        assert "csrf" not in page.text
        linked = set(re.findall(r'(?:href|src)="(/[^"#]*)', page.text))
        assert f"/s/{token}/problems/0" in linked
        # Nothing on the page leads to what needs a login.
        assert {path: reader.get(path).status_code for path in linked} == dict.fromkeys(linked, 200)
        assert reader.get(f"/s/{token}/card.png").status_code == 200
        for path in ("/leaderboard", "/share", "/api/share-links", "/api/runs/1/export/json", "/api/leaderboard/csv"):
            assert reader.get(path).status_code in (303, 401), path
        assert reader.post("/share/1/revoke").status_code in (303, 401, 403)


def test_nobody_may_try_tokens_for_long(shared: Workshop) -> None:
    statuses = [shared.client.get(f"/s/guess-{number}").status_code for number in range(40)]
    assert statuses[-1] == 429
    assert "retry-after" in shared.client.get("/s/guess").headers

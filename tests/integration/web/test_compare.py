"""Runs beside each other: pairs, figures, where they differ, as pages and files, on both databases."""

import csv
import io
import re

import pytest
from sqlalchemy import select, update

from app.db.models import Attempt, ModelEndpoint, ProblemRow, ProblemSetRow, RunMetrics, Trajectory
from app.domain.protocol.policy import Disclosure, Protocol
from app.web import comparison
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words

MISSED = ("W", "W")


@pytest.fixture
def three(workshop: Workshop) -> Workshop:
    """30 problems: 25, 10 and 24 solved. The third run has other feedback, and one problem of it was cut short."""
    with workshop.database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", 30)
        priced, free = session.get_one(ModelEndpoint, workshop.model), store_model(session, "free")
        first = [("A",)] * 25 + [MISSED] * 5
        second = [("W", "A")] * 10 + [MISSED] * 20
        third = [("A",)] * 24 + [("W", "budget")] + [MISSED] * 5
        protocol, other = Protocol(attempts=2), Protocol(attempts=2, disclosure=Disclosure.ALL)
        for model, ways, chosen in ((priced, first, protocol), (free, second, protocol), (priced, third, other)):
            store_run(session, problem_set, problems, model, ways, protocol=chosen)
    return workshop


def test_every_pair_is_over_the_problems_that_both_ended(three: Workshop) -> None:
    document = three.client.get("/api/compare?runs=1,2,3").json()
    first, second, third = document["pairs"]
    assert [(pair["run"], pair["other"]) for pair in document["pairs"]] == [(1, 2), (1, 3), (2, 3)]
    # 25 and 10 of the same 30: 15 gained, none lost.
    assert [first[name] for name in ("paired", "left_out", "both", "gained", "lost", "neither")] == [
        30,
        0,
        10,
        15,
        0,
        5,
    ]
    assert first["difference"] == pytest.approx(0.5)
    # 15 heads of 15: 2·2^-15, mid-p less 2^-15; three tests.
    assert (first["p_exact"], first["p_holm"]) == (pytest.approx(2**-14), pytest.approx(3 * 2**-15))
    # The problem that the third did not end is one that the first solved: 24 and 24 of 29.
    assert (second["paired"], second["left_out"], second["difference"]) == (29, 1, 0)
    assert second["smallest_difference"] is None
    # 14 lost, none gained: after Holm twice 2^-14.
    assert (third["lost"], third["p_holm"]) == (14, pytest.approx(2 * 2**-14))
    assert [run["tie_group"] for run in document["runs"]] == [0, 1, 0]
    assert [(run["ended_by_rules"], run["solved"]) for run in document["runs"]] == [(30, 25), (30, 10), (29, 24)]
    assert "what is solved ends sooner" in document["caveat"]
    assert document["differences"] == [
        {
            "run": 3,
            "condition": "disclosure",
            "value": "first failing case of all",
            "first": "first failing visible case",
        }
    ]
    assert document["problems"][24] == {"problem": "Hand/24", "runs": {"1": 0, "2": "unsolved", "3": "not_ended"}}
    assert three.client.get("/api/compare?runs=1,2").json()["caveat"] is None


def test_the_page_says_what_differs_before_what_came_of_it(three: Workshop) -> None:
    page = three.client.get("/compare?runs=1,2,3").text
    shown = words(page)
    for said in [
        "Not under the same conditions.",
        "Run 3: feedback: first failing case of all instead of first failing visible case.",
        "Run 3: incomplete: 1 problem not finished (1 censored later)",
        "2 of 3 pairs differ by more than chance explains; the clearest: priced, run 1 against free, run 2 "
        "+50.0 points",
        "1 left out",
        # Solved by all, by none and by some of 29: 10, 5 and 14.
        "Of 29 problems that every run ended, 10 are solved by all, 5 by none, and 14 by some.",
        "1 was not ended by every run.",
        "1 run without a known cost is not drawn.",
    ]:
        assert said in shown, said
    assert page.index("Not under the same conditions") < page.index("What came of it")
    # Wilson, 25 of 30: 66.4 – 92.7.
    assert "83.3 66.4 – 92.7 %" in shown
    alike = words(three.client.get("/compare?runs=1,2").text)
    assert "the same conditions in all" in alike
    assert "Not under" not in alike


def test_problems_are_narrowed_to_where_runs_differ_and_lead_to_their_trajectories(three: Workshop) -> None:
    page = three.client.get("/compare?runs=1,2&differing=1").text
    rows = re.findall(r'<th scope="row">(Hand/\d+)', page)
    assert rows == [f"Hand/{number}" for number in range(10, 25)]
    assert 'href="/runs/2/trajectories/41" aria-label="Hand/10, free, run 2: unsolved"' in page
    assert 'aria-label="Hand/0, free, run 2: solved at attempt 1">1</a>' in three.client.get("/compare?runs=1,2").text


def test_long_runs_are_paged(three: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.pages.compare.WHOLE", 20)
    monkeypatch.setattr("app.web.pages.compare.PAGE", 12)
    pages = [three.client.get(f"/compare?runs=1,2&page={page}").text for page in (1, 2, 3)]
    shown = [re.findall(r'<th scope="row">(Hand/\d+)', page) for page in pages]
    assert [len(rows) for rows in shown] == [12, 12, 6]
    assert sorted(problem for rows in shown for problem in rows) == sorted(f"Hand/{number}" for number in range(30))
    assert "/compare?runs=1,2&amp;page=3#problems" in pages[1]
    # Fifteen differ, which is one page.
    assert "More problems" not in three.client.get("/compare?runs=1,2&differing=1").text


def test_what_a_budget_of_tokens_solves(three: Workshop) -> None:
    with three.database.write() as session:
        # Attempts of 100 tokens: the first run solves 25 of 30 with 100 each, the second 10 with 200.
        session.execute(update(Attempt).values(prompt_tokens=60, completion_tokens=40))
    found = comparison.budgets(comparison.compare(three.database, [1, 2]))
    assert found is not None
    shares = {
        found.budgets[place]: [None if one is None else one[place].estimate for one in found.shares]
        for place in found.marked
    }
    assert found.of == 30
    assert shares == {50: [0, 0], 100: [25 / 30, 0], 200: [25 / 30, 10 / 30]}
    with three.database.write() as session:
        other = session.scalars(select(Trajectory.id).where(Trajectory.run_id == 2, Trajectory.solved_at == 1)).first()
        session.execute(update(Attempt).where(Attempt.trajectory_id == other).values(completion_tokens=None))
    assert "Run 2 is not drawn: tokens of some of its replies are unknown." in words(
        three.client.get("/compare?runs=1,2").text
    )


def test_files_hold_every_figure_pair_and_problem(three: Workshop) -> None:
    def table(name: str) -> list[dict[str, str]]:
        answer = three.client.get(f"/api/compare/{name}.csv?runs=1,3")
        assert answer.headers["content-disposition"] == f'attachment; filename="comparison-{name}.csv"'
        return list(csv.DictReader(io.StringIO(answer.text)))

    figures = {(row["run"], row["figure"], row["key"]): row for row in table("figures")}
    assert float(figures["3", "isr", "2"]["estimate"]) == pytest.approx(24 / 30)
    assert figures["1", "solved_per_cost", ""]["status"] == "ok"
    assert [row["paired"] for row in table("pairs")] == ["29"]
    problems = table("problems")
    assert len(problems) == 30
    assert problems[24] == {"problem": "Hand/24", "run_1": "0", "run_3": "not_ended"}
    with open("docs/exports.md", encoding="utf-8") as file:
        described = file.read()
    assert {
        name for name in (*comparison.PAIRS_HEADER, *comparison.FIGURES_HEADER) if f"`{name}`" not in described
    } == set()
    # Figures are stored as the page asks for them, with their version.
    with three.database.read() as session:
        assert sorted(session.scalars(select(RunMetrics.run_id))) == [1, 3]
        assert session.get_one(RunMetrics, 3).endings == "1" * 24 + "-" + "0" * 5


def test_tables_and_a_methods_section_of_a_comparison(three: Workshop) -> None:
    tables = three.client.get("/api/compare/latex?runs=1,2,3").text
    assert r"priced, run 1 & free, run 2 & +50.0 (+28.3 to +65.1) & 15 & 0 & 30 &" in tables
    assert tables.count(r"\begin{table}") == tables.count(r"\begin{adjustbox}{max width=\linewidth}") == 2
    assert r"\label{tab:halflife-compared-1-2-3}" in tables
    assert r"\label{tab:halflife-compared-1-2-3-pairs}" in tables
    assert "Run 3 differs: feedback: first failing case of all instead of first failing visible case." in tables
    assert "Run 3: incomplete: 1 problem not finished (1 censored later)." in tables
    said = three.client.get("/api/compare/methods?runs=1,2,3").text
    for part in [
        "They differ in feedback: run 1 first failing visible case; run 2 first failing visible case; "
        "run 3 first failing case of all.",
        "Run 3: priced (asked for priced) on Hand, version 1",
        "To be said with its figures: incomplete: 1 problem not finished (1 censored later).",
        "Holm's correction of mid-p over all pairs [8]. A pair holds the problems that both runs ended",
        "Up to 1 problem left out of a pair.",
        "[8] Holm, S. (1979).",
    ]:
        assert part in said, part


def test_runs_of_other_problems_stand_beside_each_other_unpaired(three: Workshop) -> None:
    with three.database.write() as session:
        small = session.get_one(ProblemSetRow, three.problem_set)
        problems = list(session.scalars(select(ProblemRow).where(ProblemRow.problem_set_id == small.id)))
        store_run(session, small, problems, session.get_one(ModelEndpoint, three.model), [("A",)] * 3)
    shown = words(three.client.get("/compare?runs=1,4").text)
    assert "Not paired: these runs are of different problem sets or versions" in shown
    assert "Figures side by side" in shown
    document = three.client.get("/api/compare?runs=1,4").json()
    assert (document["pairs"], document["problems"]) == ([], [])


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("", 200, "Name runs by their numbers"),
        ("runs=1", 200, "One run is chosen"),
        ("runs=1,99", 404, "There is no run 99."),
        ("runs=1,x", 400, "Runs: 'x' is no number of a run"),
        ("runs=1,2,3,4,5,6,7,8,9,10,11", 400, "At most 10 runs are compared, not 11."),
    ],
)
def test_what_cannot_be_compared_says_what_to_do(three: Workshop, query: str, status: int, said: str) -> None:
    answer = three.client.get(f"/compare?{query}")
    assert (answer.status_code, said in words(answer.text)) == (status, True)
    expected = 400 if status == 200 else status
    assert three.client.get(f"/api/compare?{query}").status_code == expected


def test_what_a_form_sends_becomes_an_address_to_pass_on(three: Workshop) -> None:
    sent = three.client.get("/compare?runs=3&runs=1&runs=3")
    assert (sent.status_code, sent.headers["location"]) == (303, "/compare?runs=3,1")
    assert three.client.get("/compare?run=2&run=1&column=e0").headers["location"] == "/compare?runs=2,1"
    assert 'name="runs" value="2" form="compare"' in three.client.get("/runs").text

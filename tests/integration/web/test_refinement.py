"""Iterative refinement of a run, runs side by side, challenge sets and grids: pages, files and the API."""

import csv
import io

import pytest
from sqlalchemy import select, update

from app.db.models import Attempt, ProblemRow, ProblemSetRow, Run, Trajectory
from app.domain.protocol.policy import Prompts, Protocol
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words

DIFFICULTIES = ("easy", "easy", "medium", "medium", "hard", "hard")
REFINED = [("A",), ("W", "A"), ("W", "W", "A"), ("C", "W", "W"), ("W", "W", "budget"), ("T", "T", "T")]
PASSED = [(7,), (3, 7), (3, 5, 7), (0, 2, 1), (4, 4), (2, 2, 2)]
"""Of seven cases, by problem and attempt."""
SINGLE = [("A",), ("A",), ("W",), ("W",), ("W",), ("T",)]


@pytest.fixture
def runs(workshop: Workshop) -> tuple[int, int, int]:
    """A problem set, a run that refines its answers, and a run of one attempt."""
    with workshop.database.write() as session:
        problem_set, problems = store_problem_set(session, "Tiers", 6)
        for problem, difficulty in zip(problems, DIFFICULTIES, strict=True):
            problem.difficulty = difficulty
        model = store_model(session, "reasoner")
        model.reasoning = True
        refining = Protocol(attempts=3, temperature=0.9, hint=True)
        refined = store_run(session, problem_set, problems, model, REFINED, protocol=refining)
        single = store_run(
            session, problem_set, problems, model, SINGLE, protocol=Protocol(attempts=1, temperature=0.1, hint=True)
        )
        for trajectory in session.scalars(select(Trajectory).where(Trajectory.run_id == refined.id)):
            for index, passed in enumerate(PASSED[trajectory.position]):
                session.execute(
                    update(Attempt)
                    .where(Attempt.trajectory_id == trajectory.id, Attempt.attempt_index == index)
                    .values(cases_passed=passed)
                )
        return problem_set.id, refined.id, single.id


def test_the_figures_of_a_run(workshop: Workshop, runs: tuple[int, int, int]) -> None:
    _, refined, single = runs
    assert f'href="/runs/{refined}/refinement"' in workshop.client.get(f"/runs/{refined}").text
    shown = words(workshop.client.get(f"/runs/{refined}/refinement").text)
    for text in [
        # Solved at 1, 2 and 3; one cut short after 2, so that three are at risk at 3: 1 − 5/6·4/5·2/3 = 55.6 %.
        "of 6 problems, 16.7 % are solved at the first iteration and 55.6 % within 3",
        "since 1 problem is cut short or under way; 50.0 % had all of those failed, 60.0 % without them.",
        # Iterations 1, 2, 3, 4, 4, 4: the median lies between the third and the fourth.
        "MIS, as published 3.5",
        "Median, Kaplan–Meier 3",
        "More cases pass 4 of 8 debugging attempts",
        "Regressions 1",
        # Both solve two, the refining run a third one, of five that ended in both.
        f"Against run {single}, one attempt of the same model on the same set: +20.0 points",
        "1 gained, 0 lost of 5 problems; McNemar's exact p = 1.00. 1 left out",
        "They differ in more than the number of attempts: temperature: 0.9, there 0.1.",
        "Wrong answer 5 3 60.0",
        "Compile error 1 1 100.0",
        "Time limit 2 0 0.0",
        "All errors 8 4 50.0",
        "Of 8 failing attempts that another one answers, 25.0 % are followed by an accepted program; the most frequent"
        " pair is Wrong answer and then Wrong answer, 37.5 %.",
        "more cases pass 4 50.0",
        "fewer: a regression 1 12.5",
        "Problems Easy Medium Hard All The whole set 100.0",
    ]:
        assert text in shown, (text, shown)
    assert "Runtime error" not in shown


def test_the_switches_of_the_error_table(workshop: Workshop, runs: tuple[int, int, int]) -> None:
    address = f"/runs/{runs[1]}/refinement"
    last = words(workshop.client.get(f"{address}?count_last=1").text)
    assert "Wrong answer 7 3 42.9" in last
    assert "All errors 11 4 36.4" in last
    beside = words(workshop.client.get(f"{address}?published=1").text)
    assert "Runtime error 1 1 100.0" in beside
    assert "Compile error" not in beside.split("Beside the published table")[1].split("Published, Python")[0]
    assert "Overall 24 of 29 82.8 192 of 572 33.6 22 of 118 18.6 3 of 8 37.5" in beside
    document = workshop.client.get(f"/api{address}?published=1").json()
    assert [(row["verdict"], row["occurrences"], row["fixed"]) for row in document["errors"]["rows"]] == [
        ("RE", 1, 1),
        ("WA", 5, 3),
        ("TLE", 2, 0),
        (None, 8, 4),
    ]
    assert document["published"]["rows"]["DeepSeek-R1"][1] == [75, 45]


def test_a_recording_that_stopped_at_its_first_failing_case_is_flagged(
    workshop: Workshop, runs: tuple[int, int, int]
) -> None:
    page = f"/runs/{runs[1]}/refinement"
    assert "recorded up to a failing case" not in words(workshop.client.get(page).text)
    with workshop.database.write() as session:
        of_run = select(Trajectory.id).where(Trajectory.run_id == runs[1])
        stopped = Attempt.trajectory_id.in_(of_run) & (Attempt.verdict == "WA")
        session.execute(update(Attempt).where(stopped).values(cases_run=Attempt.cases_passed + 1))
    # Wrong answers: one of the second problem, two each of the third, fourth and fifth.
    assert "7 attempts recorded up to a failing case alone" in words(workshop.client.get(page).text)


def test_the_files_hold_every_figure(workshop: Workshop, runs: tuple[int, int, int]) -> None:
    table = csv.DictReader(io.StringIO(workshop.client.get(f"/runs/{runs[1]}/refinement.csv").text))
    rows = {(row["table"], row["row"], row["column"]): row for row in table}
    assert float(rows["isr", "3", "kaplan_meier"]["estimate"]) == pytest.approx(1 - 5 / 6 * 4 / 5 * 2 / 3)
    assert float(rows["isr", "3", "all_excluded"]["estimate"]) == pytest.approx(0.6)
    assert (rows["errors", "WA", "fix_rate"]["occurrences"], rows["errors", "WA", "fix_rate"]["fixed"]) == ("5", "3")
    assert rows["verdict_flow", "TLE", "TLE"]["count"] == "2"
    assert float(rows["tiers isr", "whole set", "medium"]["estimate"]) == pytest.approx(0.5)
    assert float(rows["tiers pass_1", "whole set", "easy"]["estimate"]) == pytest.approx(0.5)
    document = workshop.client.get(f"/api/runs/{runs[1]}/refinement").json()
    assert document["mis"]["estimate"] == pytest.approx(3.5)
    assert document["single"]["paired"]["gained"] == 1
    assert workshop.client.get("/runs/99/refinement").status_code == 404
    assert workshop.client.get("/api/runs/99/refinement").status_code == 404


def test_without_a_single_attempt_the_runs_own_first_stands_for_it(
    workshop: Workshop, runs: tuple[int, int, int]
) -> None:
    with workshop.database.write() as session:
        session.get_one(Run, runs[2]).dry_run = True
    shown = words(workshop.client.get(f"/runs/{runs[1]}/refinement").text)
    # Of five that ended by the rules one is solved at once, two more later.
    assert "the run's own first attempt stands for it: +40.0 points" in shown
    assert "2 of 5 problems gained, 1 left out" in shown
    assert "McNemar" not in shown


def test_runs_of_a_set_by_difficulty(workshop: Workshop, runs: tuple[int, int, int]) -> None:
    problem_set, refined, single = runs
    shown = words(workshop.client.get(f"/refinement?set={problem_set}").text)
    assert f"run {refined}, 1 without a verdict or cut short yes on 0.9, default 3 100.0" in shown
    assert f"run {single} yes on 0.1, default 1 100.0" in shown
    first = words(workshop.client.get(f"/refinement?set={problem_set}&figure=pass1&run={refined}").text)
    assert "yes on 0.9, default 1 50.0" in first
    assert f"run {single}" not in first
    document = workshop.client.get(f"/api/refinement?set={problem_set}").json()
    tiers = {tier["tier"]: tier for tier in document["runs"][1]["tiers"]}
    assert document["runs"][1]["run"] == refined
    assert (tiers["hard"]["n"], tiers["hard"]["cut_short"], tiers["hard"]["isr"]["estimate"]) == (2, 1, 0.0)
    assert tiers["all"]["final"]["estimate"] == pytest.approx(0.5)
    rows = list(csv.DictReader(io.StringIO(workshop.client.get(f"/refinement.csv?set={problem_set}").text)))
    assert [(row["run"], row["tier"]) for row in rows[:4]] == [
        (str(single), "easy"), (str(single), "medium"), (str(single), "hard"), (str(single), "all"),
    ]  # fmt: skip
    assert workshop.client.get("/refinement?set=99").status_code == 404
    assert "No run of this set is here" in words(workshop.client.get(f"/refinement?set={workshop.problem_set}").text)


def test_a_challenge_set_holds_what_runs_failed_most(workshop: Workshop, runs: tuple[int, int, int]) -> None:
    problem_set, refined, single = runs
    form = {"query": f"set={problem_set}", "run": [str(refined), str(single)], "size": "3", "name": "hard-three"}
    # First attempts failed at 1 … 5 in the refining run, at 2 … 5 in the other: 2, 3 and 4 come first by key.
    sent = workshop.client.post("/refinement/challenge-set", data=form)
    assert sent.status_code == 303
    page = words(workshop.client.get(sent.headers["location"]).text)
    assert f"those whose first attempts failed most in runs {refined}, {single}; ties are broken by key" in page
    made = int(sent.headers["location"].rpartition("/")[2])
    with workshop.database.write() as session:
        row = session.get_one(ProblemSetRow, made)
        assert (row.name, row.version, row.licence, row.problem_count) == ("hard-three", 1, "MIT", 3)
        copies = session.scalars(select(ProblemRow).where(ProblemRow.problem_set_id == made).order_by("position")).all()
        assert [copy.key for copy in copies] == ["Tiers/2", "Tiers/3", "Tiers/4"]
        for copy in copies:
            original = session.scalars(
                select(ProblemRow).where(ProblemRow.problem_set_id == problem_set, ProblemRow.key == copy.key)
            ).one()
            assert (copy.definition, copy.difficulty) == (original.definition, None)
        # The example's rows have no true hash.
        session.execute(update(ProblemRow).values(tests_hash="0" * 64))
    again = workshop.client.post(
        "/api/challenge-sets", json={"runs": [single, refined], "size": 3, "name": "hard-three"}
    )
    assert again.status_code == 201
    assert (again.json()["problem_set_id"], again.json()["created"]) == (made, False)
    # It is a subset now: of its three, one is solved at the third attempt, and one was cut short after the second.
    tiers = words(workshop.client.get(f"/runs/{refined}/refinement").text)
    assert "hard-three, version 1 – none judged 50.0" in tiers
    narrowed = workshop.client.get(f"/api/refinement?set={problem_set}&subset={made}&run={refined}").json()
    assert narrowed["runs"][0]["tiers"][-1]["n"] == 3


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"size": "6"}, "The first attempts of these runs failed 5 problems, fewer than 6."),
        ({"size": "many"}, "Enter a whole number."),
        ({"name": " "}, "Give the challenge set a name."),
        ({"run": []}, "Choose 1 to 50 runs of one problem set."),
        ({"run": ["999"]}, "there is no run 999"),
    ],
)
def test_a_set_that_cannot_be_made_says_why(
    workshop: Workshop, runs: tuple[int, int, int], changed: dict[str, object], reason: str
) -> None:
    form = {"query": f"set={runs[0]}", "run": [str(runs[1])], "size": "2", "name": "few"} | changed
    answer = workshop.client.post("/refinement/challenge-set", data=form)
    assert answer.status_code == 422
    assert reason in words(answer.text)
    with workshop.database.read() as session:
        assert session.scalar(select(ProblemSetRow.id).where(ProblemSetRow.name == "few")) is None


def test_a_grid_is_previewed_started_and_shown(workshop: Workshop) -> None:
    form = {
        "problem_set": str(workshop.problem_set), "model": str(workshop.model), "attempts": "2",
        "prompts": "feedback_loops", "hint": "1", "grid_temperature": "0.1, 0.9", "grid_top_p": "0.3 0.95",
    }  # fmt: skip
    preview = words(workshop.client.post("/runs/preview", data=form).text)
    # Three problems, four runs, one or two attempts each.
    assert "Problems3 Requests12 – 24" in preview
    assert "These are the figures of the whole grid: 4 runs." in preview
    assert "You are a software developer." in preview
    assert "Optimize the time complexity of your algorithm." in preview
    sent = workshop.client.post("/runs", data=form)
    assert (sent.status_code, sent.headers["location"]) == (303, "/runs/1/grid")
    shown = words(workshop.client.get("/runs/3/grid").text)
    assert "Under way: not every cell has ended" in shown
    assert "No cell has a verdict yet." in shown
    page = workshop.client.get("/runs/3").text
    assert "cell of a grid: temperature 0.9, top-p 0.3" in words(page)
    assert "--prompts feedback_loops --hint --temperature 0.9 --top-p 0.3" in words(page)
    cells = workshop.client.get("/api/runs/2/grid").json()["cells"]
    assert [(cell["run"], cell["temperature"], cell["top_p"]) for cell in cells] == [
        (1, 0.1, 0.3), (2, 0.1, 0.95), (3, 0.9, 0.3), (4, 0.9, 0.95),
    ]  # fmt: skip
    clone = workshop.client.get("/runs/new?clone=3").text
    assert 'name="temperature" aria-describedby="temperature-help"  value="0.9"' in clone
    wrong = workshop.client.post("/runs", data=form | {"grid_top_p": "2", "start": "debug"})
    assert wrong.status_code == 422
    assert "Must be above 0 and at most 1, not 2." in words(wrong.text)
    assert "ask for a first answer, not for a repair" in words(wrong.text)
    assert len(workshop.client.get("/api/runs").json()["runs"]) == 4


def test_cells_are_paired_with_the_first(workshop: Workshop) -> None:
    with workshop.database.write() as session:
        problem_set, problems = store_problem_set(session, "Grid", 8)
        model = store_model(session, "gridded")
        first = store_run(
            session, problem_set, problems, model, [("W", "W")] * 8, protocol=Protocol(attempts=2, temperature=0.1)
        )
        other = store_run(
            session, problem_set, problems, model, [("A",), *[("W", "A")] * 6, ("W", "budget")],
            protocol=Protocol(attempts=2, temperature=0.9, prompts=Prompts.HALFLIFE),
        )  # fmt: skip
        other.baseline_run_id = first.id
        ids = first.id, other.id
    document = workshop.client.get(f"/api/runs/{ids[1]}/grid").json()
    cell = document["cells"][1]
    # Seven of seven gained: p = 2/2⁷. One was cut short after its first attempt, so that ISR@2 is 1 − 7/8·0/6.
    assert document["first"] == ids[0]
    assert (cell["against_first"]["gained"], cell["against_first"]["left_out"]) == (7, 1)
    assert cell["against_first"]["p_holm"] == pytest.approx(2 / 128)
    assert cell["isr"]["estimate"] == pytest.approx(1.0)
    assert cell["final_accuracy"]["estimate"] == pytest.approx(7 / 8)
    # Iterations 1, 2 six times, and 3.
    assert cell["mis"] == 2.0
    shown = words(workshop.client.get(f"/runs/{ids[0]}/grid?figure=final").text)
    assert "Of 2 cells, the one at temperature 0.9, top-p default has the highest share: 87.5 % of 8 problems" in shown
    assert (
        "In the final accuracy these differ from the first: temperature 0.9, top-p default (p = 0.02 after Holm)."
        in (shown)
    )
    rows = list(csv.DictReader(io.StringIO(workshop.client.get(f"/runs/{ids[0]}/grid.csv").text)))
    assert [(row["run"], row["gained"], row["pass_1"]) for row in rows] == [
        (str(ids[0]), "", "0.0"),
        (str(ids[1]), "7", "0.125"),
    ]

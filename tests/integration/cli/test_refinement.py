"""Grids and challenge sets from the command line."""

import json

from app.domain.protocol.policy import Protocol
from tests.fixtures.engine import store_script
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.cli.conftest import Home


def test_a_grid_is_started_and_shown(home: Home) -> None:
    with home.database() as database:
        store_script(database, home.path, {"default": ""})
    options = ("--grid-temperature", "0.1,0.9", "--grid-top-p", "0.3", "--prompts", "feedback_loops", "--hint")
    started = home.call("runs", "create", "--problems", "starter", "--model", "scripted", *options, "--json")
    assert (started.code, json.loads(started.out)) == (0, {"id": 1}), started.err
    shown = home.call("runs", "grid", "2")
    assert shown.out.splitlines() == [
        "No cell has a verdict yet.",
        "run 1  temperature 0.1, top-p 0.3: ISR@6 – of 0, MIS –",
        "run 2  temperature 0.9, top-p 0.3: ISR@6 – of 0, MIS –",
    ]
    cells = json.loads(home.call("runs", "grid", "1", "--json").out)["cells"]
    assert [cell["temperature"] for cell in cells] == [0.1, 0.9]
    wrong = home.call("runs", "create", "--problems", "starter", "--model", "scripted", "--grid-top-p", "1.5")
    assert wrong.code != 0
    assert "top-p: must be above 0 and at most 1, not 1.5" in wrong.err
    local = ("--problems", "starter", "--model", "repair-search", "--start", "debug", "--temperature", "0.5")
    refused = home.call("runs", "create", *local)
    assert refused.code != 0
    assert "repair-search does not sample" in refused.err


def test_a_challenge_set_is_made_of_runs(home: Home) -> None:
    with home.database() as database, database.write() as session:
        problem_set, problems = store_problem_set(session, "Small", 3)
        model = store_model(session, "coder")
        for letters in ([("A",), ("W",), ("W",)], [("A",), ("A",), ("W",)]):
            store_run(session, problem_set, problems, model, letters, protocol=Protocol(attempts=1))
    made = home.call("problems", "challenge", "--runs", "1,2", "--size", "2", "--name", "hard", "--json")
    assert made.code == 0, made.err
    document = json.loads(made.out)
    assert (document["name"], document["version"], document["problems"], document["created"]) == ("hard", 1, 2, True)
    # The third problem was failed twice, the second once.
    assert document["notes"][1] == "first attempts that failed: Small/2 2 of 2, Small/1 1 of 2"
    few = home.call("problems", "challenge", "--runs", "1 2", "--size", "3", "--name", "hard")
    assert few.code != 0
    assert "failed 2 problems, fewer than 3" in few.err
    wrong = home.call("problems", "challenge", "--runs", "1-2", "--size", "2", "--name", "hard")
    assert "--runs: ids separated by commas" in wrong.err

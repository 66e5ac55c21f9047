"""`halflife metrics …`."""

import json

import pytest

from app.domain.protocol.policy import Protocol
from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.cli.conftest import Home


def test_the_decay_of_counts_as_json(bare_home: Home) -> None:
    ended = bare_home.call("metrics", "decay", "--solved", "84,17,4,1,3,0", "--of", "164", "--theta", "50,80", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    published = found["published"]
    # The authors' own vector: λ 0.931, R² 0.987, t_50 1, t_80 2; E0 is observed, 84 of 164.
    assert (round(published["lambda"], 3), round(published["r_squared"], 3)) == (0.931, 0.987)
    assert (published["e0"], published["quality"]) == (84 / 164, "excellent")
    assert published["t_theta"] == {"50": 1, "80": 2}
    careful, debugging = found["careful"], found["careful_debugging_only"]
    assert (careful["status"], debugging["status"]) == ("decay", "decay")
    assert 0 < careful["low"] < careful["lambda"] < careful["high"]
    assert set(careful["t_theta"]) == {"50", "80"}
    assert len(debugging["forms"][0]["chances"]) == 5
    # 84 solved and 17 after them leave 63, of which 4 are solved.
    assert found["hazard"][2] | {"low": 0, "high": 0} == {
        "attempt": 2, "solved": 4, "at_risk": 63, "hazard": 4 / 63, "low": 0, "high": 0,
    }  # fmt: skip
    assert "Unequal difficulty" in found["caveat"]
    assert bare_home.contents() == {}


def test_the_decay_of_counts_as_text(bare_home: Home) -> None:
    ended = bare_home.call("metrics", "decay", "--solved", "8 0 0", "--of", "20", "--censored", "0,1")
    assert ended.code == 0
    assert "no λ: too few points above zero: 1, and it needs three" in ended.out
    assert "no finite value (" in ended.out
    assert "nothing was solved after the first of these attempts" in ended.out
    assert "Too few solves: 0 in these attempts" in ended.out
    assert "Unequal difficulty" in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--solved", "84,x", "--of", "164"), "solved: 'x' is not a count"),
        (("--solved", "84,-1", "--of", "164"), "solved: '-1' is not a count"),
        (("--solved", "", "--of", "164"), "solved: name at least one count"),
        (("--solved", "84", "--of", "0"), "of: there must be 1 to 1,000,000 problems"),
        (("--solved", "84,100", "--of", "164"), "184 solved and 0 censored of 164 problems"),
        (("--solved", "5", "--of", "9", "--censored", "1,1"), "censored: 2 counts for 1 attempts"),
        (("--solved", "5", "--of", "9", "--theta", "100"), "theta: '100' is not a percentage between 0 and 100"),
        (("--solved", "5", "--of", "9", "--theta", "nan"), "theta: 'nan' is not a percentage"),
    ],
)
def test_what_is_wrong_is_said(bare_home: Home, arguments: tuple[str, ...], said: str) -> None:
    ended = bare_home.call("metrics", "decay", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_figures_of_a_stored_run_and_runs_compared(home: Home) -> None:
    with home.database() as database, database.write() as session:
        problem_set, problems = store_problem_set(session, "Hand", 8)
        model = store_model(session, "m", price=1.0)
        ways = [[("A",)] * solved + [("W", "W")] * (8 - solved) for solved in (6, 2)]
        one, other = (
            store_run(session, problem_set, problems, model, found, protocol=Protocol(attempts=2)).id for found in ways
        )
    ended = home.call("metrics", "run", one, "--json")
    assert ended.code == 0, ended.err
    figures = {figure["slug"]: figure for figure in json.loads(ended.out)["figures"]}
    assert figures["accuracy"]["values"][""]["estimate"] == 6 / 8
    assert figures["median_iteration"]["values"][""]["estimate"] == 1
    text = home.call("metrics", "run", one).out
    assert "Final accuracy" in text
    assert "75.0 %" in text
    compared = json.loads(home.call("metrics", "compare", one, other, "--json").out)
    assert compared["pairs"][0]["gained"] == 4
    assert "+50.0 points" in home.call("metrics", "compare", one, other).out
    assert home.call("metrics", "compare", one, 999).code == 2
    assert home.call("metrics", "compare", one, one).code == 2
    missing = home.call("metrics", "run", 999)
    assert (missing.code, missing.err) == (2, "halflife: there is no run 999\n")

"""Trying a program on a problem's page and over the API: queued, judged by a worker, shown with all the evidence."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.config import Settings
from app.db.models import ProblemRow
from app.domain.codec import encode
from app.domain.problems import (
    Case,
    CaseTests,
    CommandTests,
    Comparison,
    OutputComparison,
    StdinCase,
    StdinTests,
    SuiteTests,
    Tests,
)
from app.main import create_app
from app.services.judging_jobs import MAX_PROGRAM_BYTES
from app.services.rejudge_run import start_rejudging
from tests.fixtures.earlier_rules import judge_jobs, store_outdated_run
from tests.fixtures.engine import Engine, store_problems
from tests.integration.web.conftest import BASE_URL
from tests.integration.web.test_pages import words

FIRST_CASE_ONLY = "def add(a, b):\n    return 3 if a == 1 else a - b\n"
"""Right for the visible case (1, 2) and for (0, 0), wrong for (5, -5)."""


@pytest.fixture
def client(engine: Engine, database_url: str, tmp_path: Path) -> Iterator[TestClient]:
    """Pages over the engine's database, with one problem set of one problem."""
    store_problems(engine.database, engine.sandbox, ["a"])
    settings = Settings(home=tmp_path / "home", database_url=database_url)
    with TestClient(create_app(settings), base_url=BASE_URL, follow_redirects=False) as opened:
        yield opened


def box(markup: str) -> str:
    """What the text box holds."""
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", markup, re.DOTALL)
    assert found is not None
    return found[1]


def test_what_the_box_holds(client: TestClient) -> None:
    assert box(client.get("/problem-sets/1/problems/1").text) == "def add(a: int, b: int) -&gt; int:\n    ..."
    assert box(client.get("/problem-sets/1/problems/1?load=reference").text).endswith("return a + b\n")
    markup = client.get("/problem-sets/1/problems/1?load=buggy:minus").text
    assert box(markup).endswith("return a - b\n")
    assert 'href="/problem-sets/1/problems/1?load=buggy%3Aminus#try"' in markup
    assert box(client.get("/problem-sets/1/problems/1?load=absent").text).endswith("...")


def test_from_the_box_to_the_verdict(client: TestClient, engine: Engine, tmp_path: Path) -> None:
    # A form sends line ends as CR LF.
    sent = client.post("/problem-sets/1/problems/1/trials", data={"program": FIRST_CASE_ONLY.replace("\n", "\r\n")})
    assert (sent.status_code, sent.headers["location"]) == (303, "/problem-sets/1/problems/1/trials/1")
    (message,) = (tmp_path / "home" / "queue" / "messages").iterdir()
    assert ".execute." in message.name
    waiting = client.get(sent.headers["location"]).text
    assert "It waits for an execute worker" in waiting
    assert 'hx-get="/problem-sets/1/problems/1/trials/1/verdict"' in waiting
    assert box(waiting) == FIRST_CASE_ONLY

    judge_jobs(engine)
    for path in ("", "/verdict"):
        shown = client.get(sent.headers["location"] + path).text
        assert "Wrong answer" in shown
        assert "2 of 3 cases passed" in shown
        # On one's own instance a hidden case is shown, and marked.
        assert "Case 2, hidden from models" in shown
        for name, value in (("Input", "(5, -5)"), ("Expected", "0"), ("Actual", "10")):
            assert f"<dt>{name}</dt><dd><code>{value}</code></dd>" in shown
        assert "hx-get" not in shown


def test_output_is_escaped_and_cut_in_the_middle(client: TestClient, engine: Engine) -> None:
    program = 'print("first </script>\\x1b[31m")\nfor n in range(2000):\n    print("line", n)\nprint("last")\n'
    client.post("/problem-sets/1/problems/1/trials", data={"program": program})
    judge_jobs(engine)
    shown = client.get("/problem-sets/1/problems/1/trials/1/verdict").text
    assert "first &lt;/script&gt;\\x1b[31m\nline 0\n" in shown
    assert "line 1999\nlast\n" in shown
    assert "characters are left out here" in shown
    # Once, where all of it is asked for.
    assert shown.count("line 1000\n") == 1
    assert "the program does not define" in shown


PROVIDED = CaseTests(
    (Case(encode(([3, 1],)), encode([1, 3]), visible=True, comparison=Comparison.CHECKER),),
    in_place=0,
    fresh_process=True,
    checker="def check(arguments, expected, actual):\n    return actual == expected\n",
)
SCRIPT = StdinTests((StdinCase("1 2\n", "3\n", visible=True),), comparison=OutputComparison.TOKENS, tolerance=0.5)
FILES = {"test_it.py": "import solution\n"}


@pytest.mark.parametrize(
    ("tests", "texts"),
    [
        (PROVIDED, ["by the tests' own checker", "argument 0 after the call", "a process of its own", "Checker"]),
        (SCRIPT, ["Standard input", "1 2", "word by word, numbers ± 0.5", "1 visible case, 0 hidden cases"]),
        (SuiteTests("pytest", FILES), ["a pytest suite that imports the program", "test_it.py", "import solution"]),
        (CommandTests(("make", "test"), "r.xml", 1, FILES), ["a command run in the program's folder: make test"]),
    ],
    ids=["cases", "stdin", "suite", "command"],
)
def test_every_style_of_tests_is_shown(client: TestClient, engine: Engine, tests: Tests, texts: list[str]) -> None:
    with engine.database.write() as session:
        row = session.scalars(select(ProblemRow).options(undefer(ProblemRow.definition))).one()
        row.definition = replace(row.definition, tests=tests)
    shown = words(client.get("/problem-sets/1/problems/1").text)
    for text in texts:
        assert text in shown


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (" \r\n", "Program: there is nothing to judge."),
        ("#" * (MAX_PROGRAM_BYTES + 1), "Program: 262,145 bytes are more than the 262,144 that can be tried here."),
    ],
    ids=["empty", "too large"],
)
def test_what_is_refused_stays_in_the_box(client: TestClient, engine: Engine, source: str, message: str) -> None:
    sent = client.post("/problem-sets/1/problems/1/trials", data={"program": source})
    assert sent.status_code == 422
    assert message in sent.text
    assert box(sent.text) == source.replace("\r\n", "\n")
    assert client.get("/api/trials/1").status_code == 404


def test_over_the_api(client: TestClient, engine: Engine) -> None:
    address = "/api/problem-sets/1/problems/1/trials"
    sent = client.post(address, json={"files": {"solution.py": "from plus import add\n", "plus.py": "add = max\n"}})
    assert sent.status_code == 202
    assert {name: sent.json()[name] for name in ("id", "status", "judgement", "error")} == {
        "id": 1,
        "status": "queued",
        "judgement": None,
        "error": None,
    }
    judge_jobs(engine)
    found = client.get("/api/trials/1").json()
    assert found["status"] == "judged"
    # max(1, 2) = 2 instead of 3; max(0, 0) = 0 is right; max(5, −5) = 5 instead of 0.
    judgement = found["judgement"]
    assert (judgement["verdict"], judgement["cases_passed"], judgement["cases_total"]) == ("WA", 1, 3)
    assert judgement["first_failure"]["actual"] == "2"
    for body in ({}, {"source": "x = 1", "files": {}}, {"files": {}}, {"source": ""}):
        assert client.post(address, json=body).status_code == 400
    assert client.post("/api/problem-sets/1/problems/2/trials", json={"source": "x = 1"}).status_code == 404
    assert client.get("/api/trials/2").status_code == 404


def test_a_trial_belongs_to_its_problem(client: TestClient, engine: Engine) -> None:
    start_rejudging(engine.database, store_outdated_run(engine))
    with engine.database.read() as session:
        other = session.scalars(select(ProblemRow).order_by(ProblemRow.id.desc()).limit(1)).one()
    # Job 1 is a re-judging's.
    assert client.get("/api/trials/1").status_code == 404
    trial = client.post("/api/problem-sets/1/problems/1/trials", json={"source": "x = 1"}).json()["id"]
    assert client.get(f"/problem-sets/1/problems/1/trials/{trial}").status_code == 200
    assert client.get(f"/problem-sets/{other.problem_set_id}/problems/{other.id}/trials/{trial}").status_code == 404

"""`halflife runs`: from a command to its figures without any server, and every other way in which a run ends."""

import json
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.db.models import Attempt, ModelEndpoint, ProblemSetRow, Run, RunStatus, Transcript
from app.db.queries.runs import PAGE
from app.domain.ports import Sandbox
from app.domain.protocol.policy import Protocol
from app.judge.judge import JUDGE_VERSION
from app.services.submit_run import RunRequest, submit_run
from tests.fixtures.chat_server import ChatServer
from tests.fixtures.earlier_rules import EARLIER, store_outdated_run
from tests.fixtures.engine import RIGHT, WRONG, Engine, store_script
from tests.integration.cli.conftest import Home

KEY = "sk-do-not-show-this-0123456789"
REPAIR = ("--problems", "starter", "--model", "repair-search", "--start", "debug", "--attempts", "2")
ADDITION: dict[str, Any] = {
    "entry_point": "add",
    "signature": "def add(a, b): ...",
    "reference": ["def add(a, b):", "    return a + b"],
    "limits": {"cpu_seconds": 2, "memory_mb": 128},
    "cases": [{"arguments": [1, 2], "expected": 3, "visible": True}],
}


def import_additions(home: Home, tmp_path: Path, count: int) -> None:
    """The problem set *additions* with keys p00, p01, …"""
    file = tmp_path / "additions.json"
    file.write_text(json.dumps({"problems": [{"key": f"p{number:02}", **ADDITION} for number in range(count)]}))
    ended = home.call("problems", "import", file, "--format", "native")
    assert ended.code == 0, ended.err


def add_script(home: Home, script: dict[str, Any], **fields: Any) -> None:
    with home.database() as database:
        store_script(database, home.path, script, **fields)


def test_a_repair_from_start_to_end(home: Home) -> None:
    ended = home.run("runs", "create", *REPAIR, "--problem", "beacon_overlap", "--wait", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert {
        "status",
        "problems",
        "solved_at_attempt",
        "e0",
        "lambda",
        "r_squared",
        "t_theta",
        "final_accuracy",
        "tokens",
        "cost",
    } <= set(document)
    assert (document["status"], document["status_reason"]) == ("completed", None)
    assert (document["model"], document["problem_set"], document["problem_set_version"]) == (
        "repair-search",
        "starter",
        1,
    )
    assert (document["problems"], document["ended"], document["excluded"]) == (1, 1, 0)
    # One problem, solved at most once: shares are 0 or 1, and two attempts are too few for a rate.
    solved = document["solved_at_attempt"]
    assert len(solved) == 2
    assert (document["e0"], document["final_accuracy"]) == (solved[0], sum(solved))
    assert (document["lambda"], document["r_squared"], document["t_theta"]) == (None, None, None)
    # --wait waits for the scores of repairs too. A repair that passes its tests fixes the bug.
    repairs = document["repairs"]
    assert (repairs["items"], repairs["tasks"], repairs["unscored"]) == (1, 1, 0)
    assert (repairs["unit_pass"]["estimate"], repairs["recall"]["estimate"]) == (sum(solved), sum(solved))
    # The baseline costs nothing, which is known and therefore not null.
    assert (document["tokens"], document["cost"]) == (0, 0.0)
    progress = ended.err.splitlines()
    assert progress[0] == f"run {document['id']} started"
    assert progress[-1] == f"1 of 1 ended, {sum(solved)} solved, 0 tokens"
    assert home.processes() == []


def test_figures_without_isolation(home: Home, tmp_path: Path) -> None:
    # 18 of 24 are solved at once, 3 of the 6 left at attempt 1, 1 of the 3 left at attempt 2, and 2 never:
    # I = 75, 50 and 33.3 % of those at risk, each two thirds of the one before, so λ = ln 3/2 exactly.
    solved_at = [0] * 18 + [1] * 3 + [2] * 1 + [3] * 2
    said = {"prompt_tokens": 10, "completion_tokens": 5}
    replies = {
        f"p{number:02}": [{"text": WRONG, **said}] * at + [{"text": RIGHT, **said}]
        for number, at in enumerate(solved_at)
    }
    import_additions(home, tmp_path, 24)
    add_script(home, {"replies": replies}, price_input=1.0, price_output=2.0)
    ended = home.run(
        *("runs", "create", "--problems", "additions", "--model", "scripted", "--attempts", "3", "--wait", "--json"),
        HALFLIFE_SANDBOX="unsandboxed",
    )
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert (document["status"], document["solved_at_attempt"], document["repairs"]) == ("completed", [18, 3, 1], None)
    assert (document["e0"], document["final_accuracy"]) == (18 / 24, pytest.approx(22 / 24))
    assert document["decay_status"] == "fitted"
    assert document["lambda"] == pytest.approx(math.log(1.5), abs=1e-5)
    assert document["r_squared"] == pytest.approx(1.0)
    assert document["half_life"] == pytest.approx(math.log(2) / math.log(1.5), abs=1e-4)
    # ⌈ln(100/(100 − θ))/λ⌉ with λ = 0.405465: 1.71, 3.97, 5.68, 7.39 and 11.36.
    assert document["t_theta"] == {"50": 2, "80": 4, "90": 6, "95": 8, "99": 12}
    # 24 + 6 + 3 = 33 replies of 15 tokens, each for 10·1 + 5·2 millionths.
    assert document["tokens"] == 33 * 15
    assert document["cost"] == pytest.approx(33 * 20e-6)
    with home.database() as database, database.read() as session:
        assert session.scalars(select(Attempt.sandbox).distinct()).all() == ["none"]
        assert len(session.scalars(select(Attempt.id)).all()) == 33
    shown = home.call("runs", "show", str(document["id"]))
    assert shown.out == (
        f"run {document['id']}: scripted on additions v1, completed\n"
        "solved at attempt 0, 1, …: 18, 3, 1 of 24\n"
        "E0 75.0 %, final accuracy 91.7 %, λ 0.405, R² 1.000\n"
        "495 tokens, cost 0.0007\n"
        # 24 at attempt 0, the 6 left at attempt 1, the 3 left at attempt 2.
        "33 verdicts without isolation\n"
    )


def test_an_endpoint_that_refuses_the_key(home: Home, chat_server: ChatServer) -> None:
    added = home.call(
        *("models", "add", "strict", "--base-url", chat_server.base_url, "--model", "unauthorized"),
        *("--api-key-env", "MY_KEY"),
        MY_KEY=KEY,
    )
    assert added.code == 0, added.err
    ended = home.run(
        *("runs", "create", "--problems", "starter", "--model", "strict", "--problem", "beacon_overlap"),
        *("--wait", "--json"),
    )
    assert ended.code == 3, ended.err
    document = json.loads(ended.out)
    assert document["status"] == "paused"
    assert document["status_reason"].startswith("key refused by ")
    assert "(status 401)" in document["status_reason"]
    assert ended.err.splitlines()[-1] == f"run {document['id']} is paused: {document['status_reason']}"
    # The server sent the key back in its complaint, and got it once: asking again would be no use.
    assert [headers["authorization"] for headers in chat_server.headers] == [f"Bearer {KEY}"]
    assert KEY not in ended.out + ended.err
    for log in (home.path / "logs").iterdir():
        assert KEY not in log.read_text()
    assert home.processes() == []


def test_waiting_for_the_arms_too(home: Home, tmp_path: Path) -> None:
    """The baseline needs three attempts; an arm of fresh starts alone shares its first and goes on by itself."""
    import_additions(home, tmp_path, 2)
    add_script(home, {"replies": {"p00": [WRONG, WRONG, RIGHT], "p01": [RIGHT]}})
    create = ("runs", "create", "--problems", "additions", "--model", "scripted", "--attempts", "3")
    # It is a sweep that finds an arm which can go on.
    ended = home.run(*create, "--arm", "resample", "--wait", "--json", HALFLIFE_SWEEP_SECONDS="0.5")
    assert ended.code == 0, ended.err
    listed = json.loads(home.call("runs", "list", "--rising", "--json").out)
    assert [(one["status"], one["ended"]) for one in listed] == [("completed", 2)] * 2
    shared = json.loads(home.call("runs", "show", str(listed[1]["id"]), "--json").out)
    assert shared["solved_at_attempt"][0] == 1
    assert home.processes() == []


def test_interrupted(home: Home, tmp_path: Path) -> None:
    import_additions(home, tmp_path, 1)
    add_script(home, {"default": {"text": RIGHT, "latency_seconds": 60}})
    process = home.start("runs", "create", "--problems", "additions", "--model", "scripted", "--wait", "--json")
    deadline = time.monotonic() + 60
    # The request is written down before it is sent: the workers are at work then.
    while home.contents()["model_requests"] == 0:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(home.processes()) >= 3
    process.send_signal(signal.SIGINT)
    # The worker that has nothing to do ends at once; a second signal ends the one that waits for its answer.
    while len(home.processes()) >= 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    document = json.loads(out)
    assert (document["status"], document["ended"]) == ("running", 0)
    assert err.splitlines()[-1] == f"run {document['id']} is running: interrupted"
    assert "Traceback" not in err
    assert home.processes() == []


def test_without_waiting(home: Home) -> None:
    ended = home.call("runs", "create", *REPAIR, "--problem", "beacon_overlap", "--json")
    run_id = json.loads(ended.out)["id"]
    assert (ended.code, ended.out.count("id"), ended.err) == (0, 1, "")
    (listed,) = json.loads(home.call("runs", "list", "--json").out)
    assert listed == {
        "id": run_id,
        "model": "repair-search",
        "problem_set": "starter",
        "problem_set_version": 1,
        "judge_version": JUDGE_VERSION,
        "judging_outdated": False,
        "status": "running",
        "dry_run": False,
        "imported_from": None,
        "demo": False,
        "waiting": None,
        "problems": 1,
        "ended": 0,
        "solved": 0,
    }
    assert list((home.path / "queue" / "messages").iterdir()) != []
    paused = home.call("runs", "pause", str(run_id), "--json")
    assert json.loads(paused.out) == {"id": run_id, "status": "paused"}
    assert "paused: paused by hand" in home.call("runs", "list", "--status", "paused").out
    assert "paused: paused by hand" in home.call("runs", "show", str(run_id)).out
    assert home.call("runs", "list", "--search", "nobody").out == "No run matches.\n"
    assert json.loads(home.call("runs", "resume", str(run_id), "--json").out)["status"] == "running"
    refused = home.call("runs", "retry", str(run_id))
    assert (refused.code, refused.out) == (2, "")
    assert "has nothing to retry" in refused.err
    cancelled = home.call("runs", "cancel", str(run_id), "--json")
    assert json.loads(cancelled.out) == {"id": run_id, "status": "cancelled"}
    shown = json.loads(home.call("runs", "show", str(run_id), "--json").out)
    assert (shown["status"], shown["decay_status"], shown["e0"]) == (RunStatus.CANCELLED, "no_data", None)
    # What is over cannot go on.
    resumed = home.call("runs", "resume", str(run_id))
    assert resumed.code == 2
    assert resumed.out == ""


def test_a_dry_run_and_a_prompt_of_its_own(home: Home, tmp_path: Path) -> None:
    import_additions(home, tmp_path, 3)
    add_script(home, {"default": {"text": RIGHT}})
    create = ("runs", "create", "--problems", "additions", "--model", "scripted", "--system-prompt", "Be brief.")
    ended = home.run(*create, "--first", "2", "--dry-run", "--wait", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert (document["status"], document["dry_run"], document["problems"]) == ("completed", True, 1)
    assert (document["solved_at_attempt"], document["waiting"]) == ([1], None)
    trajectory = json.loads(home.call("runs", "trajectory", str(document["id"]), "1", "--json").out)
    assert trajectory["attempts"][0]["attempt"] == 0
    with home.database() as database, database.read() as session:
        assert session.scalars(select(Transcript.messages)).one()[0] == {"role": "system", "content": "Be brief."}
        assert session.scalars(select(Run.subset)).one() == ["p00"]
    blank = home.call(*create[:-1], " ")
    assert (blank.code, blank.err) == (
        2,
        "halflife: system prompt: must not be blank; leave it out for the usual one\n",
    )


CREATE: dict[str, tuple[dict[str, str], str]] = {
    "problem set": ({"--problems": "none"}, "there is no problem set 'none'; there are: starter"),
    "version": ({"--problems": "starter@2"}, "there is no problem set 'starter@2'; there are: starter"),
    "no version": ({"--problems": "starter@x"}, "there is no problem set 'starter@x'; there are: starter"),
    "huge version": ({"--problems": "starter@" + "9" * 30}, "there is no problem set 'starter@999"),
    "model": ({"--model": "none"}, "there is no model 'none'; there are: repair-search"),
    "problem": ({"--problem": "none"}, "problems: starter has no none"),
    "attempts": ({"--attempts": "0"}, "attempts: must be between 1 and 50, not 0"),
    "start": ({"--start": "generate"}, "protocol: repair-search repairs a given buggy program"),
    "tokens": ({"--budget-tokens": "0"}, "budget: tokens must be a positive number"),
    "too many tokens": ({"--budget-tokens": "9" * 30}, "budget: tokens must be a positive number"),
    "cost": ({"--budget-cost": "inf"}, "budget: cost must be a positive amount"),
    "in flight": ({"--in-flight": "0"}, "in flight: at least 1 trajectory must be under way"),
}


@pytest.mark.parametrize(("options", "said"), CREATE.values(), ids=CREATE)
def test_refused(home: Home, leaves_no_trace: Callable[[], None], options: dict[str, str], said: str) -> None:
    given = dict(zip(REPAIR[::2], REPAIR[1::2], strict=True)) | options
    ended = home.call("runs", "create", *(part for pair in given.items() for part in pair), "--wait", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"halflife: {said}")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "pause", "resume", "cancel", "retry"])
def test_a_run_that_is_not_there(home: Home, command: str) -> None:
    ended = home.call("runs", command, "77")
    assert (ended.code, ended.out, ended.err) == (2, "", "halflife: there is no run 77\n")


@pytest.mark.parametrize("number", ["9" * 30, "abc", "-1"])
def test_a_number_that_is_no_run(home: Home, number: str) -> None:
    ended = home.call("runs", "show", "--", number)
    assert (ended.code, ended.out) == (2, "")
    assert "Traceback" not in ended.err


def test_no_runs_yet(bare_home: Home) -> None:
    assert bare_home.call("runs", "list").out == "No runs yet: start one with `halflife runs create`.\n"
    assert bare_home.call("runs", "list", "--json").out == "[]\n"


def test_more_runs_than_a_page_holds(home: Home, tmp_path: Path) -> None:
    import_additions(home, tmp_path, 1)
    add_script(home, {})
    with home.database() as database:
        with database.read() as session:
            endpoint = session.scalars(select(ModelEndpoint.id).where(ModelEndpoint.name == "scripted")).one()
            problem_set = session.scalars(select(ProblemSetRow.id).where(ProblemSetRow.name == "additions")).one()
        runs = [submit_run(database, RunRequest(problem_set, endpoint, Protocol())) for _ in range(PAGE + 2)]
    first = home.call("runs", "list", "--rising")
    assert first.out.splitlines()[-1] == "… and 2 more: --all lists them"
    assert [one["id"] for one in json.loads(home.call("runs", "list", "--rising", "--json").out)] == runs[:PAGE]
    assert [one["id"] for one in json.loads(home.call("runs", "list", "--rising", "--all", "--json").out)] == runs


def test_a_run_is_judged_again(bare_home: Home, sandbox: Sandbox) -> None:
    """By a worker of the command's own; a preview first, then applied without judging anew."""
    bare_home.call("problems", "list")
    with bare_home.database() as database:
        run_id = store_outdated_run(Engine(database, sandbox, bare_home.path))
    shown = bare_home.call("runs", "show", str(run_id))
    assert "judging outdated: 14 verdicts are by other rules than today's" in shown.out
    assert f"judging outdated (judge {EARLIER})" in bare_home.call("runs", "list").out

    preview = bare_home.run("runs", "rejudge", str(run_id), "--json")
    assert preview.code == 0, preview.err
    document = json.loads(preview.out)
    assert (document["status"], document["programs"], document["finished"], document["changed"]) == ("open", 14, 14, 4)
    assert {"from": "WA", "to": "AC", "count": 1} in document["matrix"]
    assert (document["before"]["solved_at_attempt"], document["after"]["solved_at_attempt"]) == (
        [1, 1, 1, 1],
        [0, 2, 1, 0],
    )
    assert json.loads(bare_home.call("runs", "show", str(run_id), "--json").out)["judging_outdated"] is True

    applied = bare_home.call("runs", "rejudge", str(run_id), "--apply")
    assert applied.code == 0, applied.err
    lines = applied.out.splitlines()
    assert lines[0] == f"4 of 14 verdicts changed by judge {JUDGE_VERSION}"
    assert "  b, attempt 1: WA → AC" in lines
    assert lines[-3:] == [
        "solved 4 → 3 of 6",
        "1 ended early, 2 surplus attempts",
        "applied; the old verdicts are kept",
    ]
    document = json.loads(bare_home.call("runs", "show", str(run_id), "--json").out)
    assert (document["judging_outdated"], document["solved_at_attempt"]) == (False, [0, 2, 1, 0])
    assert document["caveats"]["ended_early"] == 1

    trajectory = bare_home.call("runs", "trajectory", str(run_id), "2").out.splitlines()
    assert trajectory[0] == "trajectory 2, b: solved"
    assert "attempt 2: WA, 1 of 3 passed, surplus" in trajectory
    document = json.loads(bare_home.call("runs", "trajectory", str(run_id), "2", "--json").out)
    # 1 − 2 = −1: the visible case.
    assert document["attempts"][0]["first_failure"]["actual"] == "-1"
    assert bare_home.processes() == []

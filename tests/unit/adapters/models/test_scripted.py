"""Scripts: which reply is given, and what is remembered across processes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from app.adapters.models.scripted import Script, Scripted
from app.domain.errors import InputError, ModelRejected, ModelUnavailable
from app.domain.ports import ModelRequest, Sampling, Task, Trial
from app.domain.problems import Limits
from app.domain.programs import Program
from app.domain.verdicts import Verdict


def request(problem: str = "gcd", attempt: int = 0, seed: int = 3) -> ModelRequest:
    trials = (Trial(Program.single("x"), Verdict.WA),) * attempt
    return ModelRequest((), Sampling(), seed, Task(problem, "f", Limits(), None, None, trials))


def scripted(script: dict[str, Any]) -> Scripted:
    return Scripted(Script.from_json(script))


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_replies_go_by_problem_and_attempt() -> None:
    model = scripted({"default": "none", "replies": {"gcd": ["first", None, {"text": "third"}]}})
    assert [model.complete(request(attempt=n)).text for n in range(4)] == ["first", "none", "third", "none"]
    assert model.complete(request("other")).text == "none"


def test_facts_of_a_reply() -> None:
    entry = {"text": "x\x00\ud800", "prompt_tokens": 4, "completion_tokens": 2, "truncated": True}
    reply = scripted({"default": entry}).complete(request())
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("x\x00\ud800", 4, 2)
    assert (reply.truncated, reply.finish_reason) == (True, "length")
    plain = scripted({"default": "x"}).complete(request())
    assert (plain.prompt_tokens, plain.completion_tokens, plain.truncated) == (None, None, False)


def test_latency_is_waited_for() -> None:
    started = time.monotonic()
    reply = scripted({"default": {"latency_seconds": 0.05}}).complete(request())
    assert time.monotonic() - started >= 0.05
    assert reply.latency_ms >= 50


def test_every_request_is_logged(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    model = scripted({"default": "x", "log": str(log)})
    model.complete(request("a\ud800", 0, seed=8))
    model.complete(request("b", 2))
    first, second = lines(log)
    assert (first["problem"], first["attempt"], first["seed"], first["pid"]) == ("a\ud800", 0, 8, os.getpid())
    assert (second["problem"], second["attempt"]) == ("b", 2)
    assert first["time"] <= second["time"]


def test_fails_the_first_times_of_each_attempt(tmp_path: Path) -> None:
    failing = {"text": "ok", "fail": {"times": 2, "retry_after": 0.5, "billed": True}}
    script = {"default": failing, "log": str(tmp_path / "log")}
    for attempt in (0, 1):
        for _ in range(2):
            with pytest.raises(ModelUnavailable) as caught:
                scripted(script).complete(request(attempt=attempt))
            assert (caught.value.retry_after, caught.value.billed) == (0.5, True)
        assert scripted(script).complete(request(attempt=attempt)).text == "ok"


def test_rejections_last() -> None:
    model = scripted({"default": {"fail": {"kind": "rejected", "reason": "key refused"}}})
    for _ in range(2):
        with pytest.raises(ModelRejected, match="key refused"):
            model.complete(request())


def test_processes_share_the_count(tmp_path: Path) -> None:
    """Of 4 processes asking at once 5 times each, exactly 3 of the 20 requests fail, and 20 lines are logged."""
    log = tmp_path / "log"
    script = {"default": {"fail": {"times": 3}}, "log": str(log)}
    program = f"""
from app.adapters.models.scripted import Script, Scripted
from app.domain.errors import ModelUnavailable
from app.domain.ports import ModelRequest, Sampling, Task
from app.domain.problems import Limits
model = Scripted(Script.from_json({script!r}))
failed = 0
for _ in range(5):
    try:
        model.complete(ModelRequest((), Sampling(), 0, Task("p", "f", Limits(), None, None, ())))
    except ModelUnavailable:
        failed += 1
print(failed)
"""
    workers = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    failures = [int(worker.communicate(timeout=20)[0]) for worker in workers]
    assert sum(failures) == 3
    assert len(lines(log)) == 20
    assert len({line["pid"] for line in lines(log)}) == 4


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([], "script: expected an object"),
        ({"defualt": "x"}, "script: unknown field 'defualt'"),
        ({"replies": []}, "script.replies: expected"),
        ({"replies": {"p": "x"}}, r"script.replies\['p'\]: expected a list"),
        ({"replies": {"p": [{"text": 1}]}}, r"script.replies\['p'\]\[0\].text: expected str, got int"),
        ({"default": {"latency_seconds": -1}}, "script.default.latency_seconds: expected a number"),
        ({"default": {"prompt_tokens": True}}, "script.default.prompt_tokens: expected int"),
        ({"default": {"fail": {"kind": "x"}}}, "script.default.fail.kind: expected"),
        ({"default": {"fail": {"times": 1}}}, "needs `log`"),
        ({"log": 1}, "script.log: expected a path"),
    ],
)
def test_faults_in_a_script_are_named(script: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Script.from_json(script)

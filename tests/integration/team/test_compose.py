"""The installation of a team for real: started by its compose file, used over HTTP, scaled, damaged and restored."""

import json
import os
import re
import signal
import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest

from app.config import ROOT
from tests.fixtures.docker import DockerEngine
from tests.fixtures.team import Team

DEPLOYMENT = (ROOT / "docs" / "deployment.md").read_text()

# A model that knows nothing, slowly: every attempt gets the verdict "no code", and answers are under way at any time.
MODEL_SERVER = """
import json, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(1)
        body = json.dumps({"model": "know-nothing", "usage": {"prompt_tokens": 7, "completion_tokens": 3},
            "choices": [{"message": {"role": "assistant", "content": "I do not know."}, "finish_reason": "stop"}]})
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
ThreadingHTTPServer(("", 80), Handler).serve_forever()
"""


@pytest.mark.parametrize("name", ["POSTGRES_PASSWORD", "HALFLIFE_SECRET_KEY", "HALFLIFE_PASSWORD"])
def test_nothing_starts_without_secrets_of_its_own(docker_engine: DockerEngine, name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"set {name} in \.env, see \.env\.example"):
        docker_engine.compose("config", "--quiet", **{name: ""})


def test_the_example_names_every_variable() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    named = set(re.findall(r"^#? ?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{([A-Z_]+):\?", compose)) == {
        "POSTGRES_PASSWORD",
        "HALFLIFE_SECRET_KEY",
        "HALFLIFE_PASSWORD",
    }
    assert named <= set(re.findall(r"\$\{([A-Z_]+):", compose))
    assert set(re.findall(r"\$\{([A-Z_]+):", compose)) <= named | set(re.findall(r"`([A-Z_]+)`", DEPLOYMENT))


@pytest.fixture(scope="module")
def model_server(team: Team) -> Iterator[str]:
    """The address of a model in the installation's own network, under a name that is allowed."""
    network = team.network("outside")
    container = team.engine.docker(
        *("run", "--detach", "--rm", "--network", network, "--network-alias", "models.internal", "--user", "0"),
        *("halflife", "python3", "-c", MODEL_SERVER),
    ).strip()
    yield "http://models.internal/v1"
    team.engine.docker("kill", container)


def inspected(team: Team, service: str) -> list[dict[str, Any]]:
    return [
        json.loads(team.engine.docker("inspect", "--format", "{{json .}}", one)) for one in team.containers(service)
    ]


def metrics(team: Team) -> dict[str, float]:
    lines = (line for line in team.read("/metrics").splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def finished(team: Team, run_id: int) -> dict[str, Any] | None:
    run = team.get(f"/api/runs/{run_id}")
    return run if run["status"] == "completed" else None


def test_containers_have_no_more_than_they_need(team: Team) -> None:
    for service in ("postgres", "redis", "web", "generate", "execute", "slot"):
        (one, *_) = inspected(team, service)
        host, config = one["HostConfig"], one["Config"]
        assert not host["Privileged"], service
        assert host["ReadonlyRootfs"], service
        assert host["CapDrop"] == ["ALL"], service
        assert host["CapAdd"] == (["SETUID", "SETGID"] if service == "slot" else None), service
        assert "no-new-privileges:true" in host["SecurityOpt"], service
        assert all("docker" not in mount["Destination"] for mount in one["Mounts"]), service
        assert bool(config["User"]) == (service != "slot"), service
        assert host["RestartPolicy"]["Name"] in ("always", "unless-stopped"), service
        published = [to["HostIp"] for ports in (host["PortBindings"] or {}).values() for to in ports]
        assert published == (["127.0.0.1"] if service == "web" else []), service
        held = {variable.partition("=")[0] for variable in config["Env"]}
        assert ("HALFLIFE_SECRET_KEY" in held) == (service in ("web", "generate")), service
        assert ("HALFLIFE_PASSWORD" in held) == (service == "web"), service
        networks = {name.rpartition("_")[2] for name in one["NetworkSettings"]["Networks"]}
        expected = {"slot": {"none"}, "web": {"inside", "outside"}, "generate": {"inside", "outside"}}
        assert networks == expected.get(service, {"inside"}), service


def test_nobody_gets_in_without_a_login(team: Team) -> None:
    token, team.token = team.token, "hl_wrong"
    try:
        for path in ("/api/runs", "/metrics"):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                team.read(path)
    finally:
        team.token = token


def test_the_installations_own_network_is_closed_to_models(team: Team) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        team.post("/api/models", {"name": "redis", "base_url": "http://redis:6379/v1", "model": "x"})
    reason = json.loads(refused.value.read())["error"]
    assert re.match(r"base URL: redis stands for [0-9.]+, which is no public address", reason)


def test_runs_outlive_their_workers(team: Team, model_server: str) -> None:
    problem_set = team.starter()
    problems = 12
    few = {"problem_set_id": problem_set, "first": problems}
    (search,) = (model["id"] for model in team.get("/api/models")["models"] if model["kind"] == "repair-search")
    slow = team.post("/api/models", {"name": "slow", "base_url": model_server, "model": "know-nothing"})["id"]

    team.compose("up", "--detach", "--no-build", "--no-recreate", *team.scaled(generate=2, execute=2, slot=3))
    asked = team.post("/api/runs", {**few, "model_id": slow, "protocol": {"attempts": 2}})["id"]
    debug = {"start": "debug", "attempts": 2}
    repaired = team.post("/api/runs", {**few, "model_id": search, "protocol": debug})["id"]
    for service in ("generate", "execute"):
        team.wait_for(lambda kind=service: metrics(team)[f'halflife_workers{{kind="{kind}"}}'] == 2)
    team.wait_for(lambda: team.get(f"/api/runs/{asked}")["progress"]["seconds"] > 0)
    for service in ("generate", "execute"):
        (victim, *_) = inspected(team, service)
        os.kill(victim["State"]["Pid"], signal.SIGKILL)

    run = team.wait_for(lambda: finished(team, asked))
    # Nothing is solved and nobody is lost: each of the problems at risk twice.
    assert [(point["solved"], point["at_risk"]) for point in run["points"]] == [(0, problems), (0, problems)]
    assert (run["ended"], run["excluded"]) == (problems, 0)
    found = team.wait_for(lambda: finished(team, repaired))
    assert found["excluded"] == 0
    assert sum(found["solved_at_attempt"]) > 0

    # The engine starts the killed workers again.
    for service in ("generate", "execute"):
        team.wait_for(lambda kind=service: all(one["State"]["Running"] for one in inspected(team, kind)))
    team.wait_for(lambda: metrics(team)['halflife_verdicts{verdict="no_code"}'] == 2 * problems)
    told = metrics(team)
    assert told['halflife_runs{status="completed"}'] == 2
    assert told['halflife_tokens_total{direction="completion"}'] >= 3 * 2 * problems
    assert told['halflife_queue_due{kind="execute"}'] == 0
    assert told['halflife_slots{kind="execute"}'] >= 4


def test_logs_tell_runs_and_attempts(team: Team) -> None:
    lines = [line.partition("|")[2].strip() for line in team.compose("logs", "--no-color", "execute").splitlines()]
    entries = [json.loads(line) for line in lines if line.startswith("{")]
    assert len(entries) > 0.9 * len(lines)
    judged = [entry for entry in entries if entry["event"] == "judged"]
    assert judged
    assert all(
        {"time", "level", "logger", "run", "trajectory", "attempt", "verdict"} <= entry.keys() for entry in judged
    )


def test_a_backup_brings_everything_back(team: Team) -> None:
    before = team.get("/api/runs")["runs"]
    assert before
    commands = dict(re.findall(r"^### (Backup|Restore)\n.*?```\n(.+?)```", DEPLOYMENT, re.MULTILINE | re.DOTALL))
    team.script(commands["Backup"])
    team.compose("rm", "--stop", "--force", "postgres")
    team.engine.docker("volume", "rm", team.volume("database"))
    team.script(commands["Restore"])
    team.wait_for(lambda: team.read("/readyz"))
    assert team.get("/api/runs")["runs"] == before
    document = team.get(f"/api/runs/{before[0]['id']}")
    assert document["points"]

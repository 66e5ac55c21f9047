"""The JSON API."""

import pytest

from tests.integration.web.conftest import Site, Workshop


def test_a_run_comes_with_its_counts_and_its_fit(site: Site) -> None:
    run = site.client.get(f"/api/runs/{site.example.completed}").json()
    assert run["solved_at_attempt"] == [96, 23, 16, 5, 2, 4]
    assert run["points"][1] | {"low": None, "high": None, "hazard": None} == {
        "attempt": 1, "solved": 23, "at_risk": 68, "hazard": None, "low": None, "high": None,
    }  # fmt: skip
    assert run["lambda"] == pytest.approx(0.339, abs=5e-4)
    assert run["t_theta"]["50"] == 3
    assert run["e0"] == pytest.approx(96 / 164)
    assert run["cost"] is None


def test_lists(site: Site) -> None:
    assert [run["status"] for run in site.client.get("/api/runs").json()["runs"]].count("running") == 2
    (paused,) = site.client.get("/api/runs?status=paused").json()["runs"]
    assert (paused["waiting"]["kind"], paused["waiting"]["text"]) == (
        "person",
        "paused: the model refused the key: 401 Unauthorized",
    )
    names = {row["name"] for row in site.client.get("/api/problem-sets").json()}
    assert names == {"HumanEval"}
    detail = site.client.get(f"/api/problem-sets/{site.example.problem_set}").json()
    assert (len(detail["items"]), detail["next_after"]) == (100, 99)
    assert detail["items"][1]["cases"] is None


def test_a_model_goes_in_and_its_key_never_comes_out(workshop: Workshop) -> None:
    body = {"name": "m", "base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key": "sk-0123456789abcdef"}
    created = workshop.client.post("/api/models", json=body)
    assert created.status_code == 201
    listed = workshop.client.get("/api/models")
    assert "0123456789ab" not in listed.text
    (model,) = [row for row in listed.json() if row["id"] == created.json()["id"]]
    assert (model["key_hint"], model["price_input"]) == ("cdef", None)
    assert workshop.client.post("/api/models", json=body).status_code == 409


def test_a_run_is_started_and_cancelled(workshop: Workshop) -> None:
    body = {"problem_set_id": workshop.problem_set, "model_id": workshop.model, "protocol": {"attempts": 3}}
    created = workshop.client.post("/api/runs", json=body)
    assert created.status_code == 201
    run = created.json()
    assert (run["status"], run["problems"], run["fit_status"], run["lambda"]) == ("running", 3, "no_data", None)
    assert len(workshop.wakes()) == 3
    assert workshop.client.post(f"/api/runs/{run['id']}/cancel").json()["status"] == "cancelled"
    assert workshop.client.post(f"/api/runs/{run['id']}/resume").status_code == 409


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"model_id": 1}, 400, "problem_set_id: Field required"),
        ({"problem_set_id": 1, "model_id": 99}, 404, "there is no model 99"),
        ({"problem_set_id": 1, "model_id": 1, "protocol": {"attempts": 99}}, 400, "protocol.attempts"),
        ({"problem_set_id": 1, "model_id": 1, "problems": ["x"]}, 400, "problems: Small has no x"),
    ],
)
def test_what_cannot_be_done_is_explained(
    workshop: Workshop, body: dict[str, object], status: int, reason: str
) -> None:
    answer = workshop.client.post("/api/runs", json=body)
    assert answer.status_code == status
    assert reason in answer.json()["error"]
    assert workshop.wakes() == []


def test_an_unknown_run_is_not_found(site: Site) -> None:
    answer = site.client.get("/api/runs/99999")
    assert (answer.status_code, answer.json()) == (404, {"error": "there is no run 99999"})


def test_the_schema_is_served_and_names_no_page(site: Site) -> None:
    paths = site.client.get("/api/openapi.json").json()["paths"]
    assert {"/api/runs", "/api/runs/plan", "/api/runs/{run_id}/retry", "/api/models"} <= set(paths)
    assert [path for path in paths if not path.startswith("/api/")] == []

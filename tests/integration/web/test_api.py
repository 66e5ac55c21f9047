"""The JSON API."""

import re

import pytest

from tests.fixtures.example_data import EPOCH, store_model, store_problem_set
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
    sets = site.client.get("/api/problem-sets").json()
    assert [(row["name"], row["version"]) for row in sets["problem_sets"]] == [
        ("HumanEval", 2),
        ("HumanEval", 1),
        ("PDB sample", 1),
    ]
    assert sets["next_after"] is None
    detail = site.client.get(f"/api/problem-sets/{site.example.problem_set}").json()
    assert (len(detail["items"]), detail["next_after"]) == (100, 99)
    assert detail["items"][1]["cases"] is None


def test_models_and_problem_sets_are_paged_in_their_order(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.db.queries.endpoints.PAGE", 2)
    monkeypatch.setattr("app.db.queries.problem_sets.PAGE", 2)
    with workshop.database.write() as session:
        for name in ("b", "a", "d", "c"):
            store_model(session, name).archived_at = EPOCH if name in "ac" else None
        for name, version in (("Small", 2), ("Tiny", 1), ("Small", 3), ("Able", 1)):
            store_problem_set(session, name, 1, version=version)

    def pages(path: str, label: str) -> list[list[tuple[str, int]]]:
        found, after = [], ""
        while after is not None:
            page = workshop.client.get(f"/api/{path}{after and f'?after={after}'}").json()
            shown = workshop.client.get(f"/{path}{after and f'?after={after}'}").text
            rows = page[path.replace("-", "_")]
            assert re.findall(rf'<td><a href="/{path}/(\d+)">', shown) == [str(row["id"]) for row in rows]
            found.append([row[label] for row in rows])
            after = page["next_after"]
        return found

    # Those put away come last.
    assert pages("models", "name") == [["b", "d"], ["priced", "repair-search"], ["a", "c"]]
    assert pages("problem-sets", "version") == [[1, 3], [2, 1], [1]]  # of Able, Small, Small, Small and Tiny
    assert workshop.client.get("/problem-sets?after=4").text.count(">older<") == 2
    for path in ("models", "problem-sets"):
        answer = workshop.client.get(f"/api/{path}?after=999")
        assert (answer.status_code, "there is no" in answer.json()["error"]) == (400, True)


def test_a_model_goes_in_and_its_key_never_comes_out(workshop: Workshop) -> None:
    body = {"name": "m", "base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key": "sk-0123456789abcdef"}
    created = workshop.client.post("/api/models", json=body)
    assert created.status_code == 201
    listed = workshop.client.get("/api/models")
    assert "0123456789ab" not in listed.text
    (model,) = [row for row in listed.json()["models"] if row["id"] == created.json()["id"]]
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

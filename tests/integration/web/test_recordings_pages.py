"""Importing a recording in the browser and over the API, and how an imported run is shown wherever runs are."""

import json
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.db.models import Recording, RecordingImport
from app.domain.ports import Sandbox
from app.services.import_recording import RecordingRequest, import_recording
from app.services.judge_program import CachedJudge
from tests.fixtures.engine import sandbox as sandbox
from tests.fixtures.example_data import BUGGY, REFERENCE
from tests.integration.web.conftest import Workshop
from tests.integration.web.test_pages import words

SHOWN = "assert has_close_elements([1.0, 1.1], 0.2)"


def record(key: str, *programs: str, solved: bool) -> dict[str, Any]:
    return {
        "task_id": key,
        "given_tests": [SHOWN],
        "implementations": programs,
        "test_feedback": [[SHOWN]] * (len(programs) - 1) + [[]],
        "is_passing": True,
        "is_solved": solved,
    }


FILE = "\n".join(
    json.dumps(one)
    for one in (
        record("Small/0", REFERENCE, solved=True),
        record("Small/1", BUGGY, REFERENCE, solved=True),
        record("Small/2", BUGGY, solved=True),  # it is not
    )
).encode()
FORM = {"format": "ldb", "model": "own-model", "attempts": "6"}


def imported(workshop: Workshop, sandbox: Sandbox | None = None, **options: Any) -> int:
    request = RecordingRequest(
        **{"format": "ldb", "problem_set_id": workshop.problem_set, "model": "own-model", "attempts": 6, **options},
        re_execute=sandbox is not None,
    )
    judge = None if sandbox is None else CachedJudge(workshop.database, sandbox)
    return import_recording(workshop.database, {"": FILE}, request, file_name="<own>.jsonl", judge=judge).run


def test_a_file_is_queued_from_the_form(workshop: Workshop) -> None:
    page = workshop.client.get("/recordings/new").text
    for text in ("LDB: a run of LDB", "Halflife's own export: a run exported by Halflife", "Small, version 1"):
        assert text in words(page)
    sent = workshop.client.post(
        "/recordings/imports",
        files={"file": ("own.jsonl", FILE)},
        data={**FORM, "problem_set": str(workshop.problem_set), "re_execute": "1"},
    )
    assert (sent.status_code, sent.headers["location"]) == (303, "/recordings/imports/1")
    assert [name.partition(".")[0] for name in workshop.wakes()][-1:] != []
    with workshop.database.read() as session:
        row = session.scalars(select(RecordingImport).options(undefer(RecordingImport.upload))).one()
    assert (row.upload, row.file_name) == (FILE, "own.jsonl")
    assert row.options == {
        "format": "ldb",
        "problem_set_id": workshop.problem_set,
        "model": "own-model",
        "attempts": 6,
        "part": None,
        "skip_broken": False,
        "re_execute": True,
        "demo": False,
    }
    waiting = words(workshop.client.get("/recordings/imports/1").text)
    assert "It waits for an execute worker" in waiting
    assert "every program judged again" in waiting
    assert workshop.client.post("/recordings/imports/1/cancel").status_code == 303
    assert "Cancelled" in words(workshop.client.get("/recordings/imports/1/live").text)
    assert "own-model, sent" in words(workshop.client.get("/recordings/new").text)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"format": ""}, "Choose one of halflife, ldb, outcomes, tree"),
        ({"model": ""}, "Name the model, since the recording does not"),
        ({"attempts": "many"}, "Must be a whole number from 1 to 50"),
        ({"problem_set": ""}, "Say which the recording is of"),
        ({"problem_set": "99"}, "there is no problem set 99"),
        ({"format": "outcomes", "re_execute": "1"}, "Recordings of this format hold no programs"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_typed_is_lost(
    workshop: Workshop, fields: dict[str, str], reason: str
) -> None:
    typed = {**FORM, "problem_set": str(workshop.problem_set), "part": "m/python3", **fields}
    answer = workshop.client.post("/recordings/imports", files={"file": ("own.jsonl", FILE)}, data=typed)
    assert answer.status_code == 422
    assert reason in words(answer.text)
    assert 'value="m/python3"' in answer.text
    without = workshop.client.post("/recordings/imports", data=typed | {"format": "ldb", "model": "m"})
    assert without.status_code == 422


def test_a_recording_goes_in_over_the_api(workshop: Workshop) -> None:
    formats = workshop.client.get("/api/recordings/formats").json()
    assert [one["name"] for one in formats] == ["halflife", "ldb", "outcomes", "tree"]
    sent = workshop.client.post(
        "/api/recordings/imports",
        files={"file": ("own.jsonl", FILE)},
        data={**FORM, "problem_set_id": workshop.problem_set},
    )
    assert sent.status_code == 202
    found = workshop.client.get("/api/recordings/imports/1").json()
    assert found == sent.json()
    assert (found["format"], found["run_id"], found["finished_at"], found["report"]) == ("ldb", None, None, None)
    assert workshop.client.post("/api/recordings/imports/1/cancel").json()["error"] == "cancelled"
    assert workshop.client.get("/api/recordings/imports/2").status_code == 404
    refused = workshop.client.post("/api/recordings/imports", files={"file": ("x", FILE)}, data={"format": "ldb"})
    assert (refused.status_code, refused.json()["error"][:12]) == (400, "problem set:")


def test_recorded_verdicts_are_marked_wherever_the_run_is_shown(workshop: Workshop) -> None:
    run_id = imported(workshop)
    page = workshop.client.get(f"/runs/{run_id}").text
    said = words(page)
    for text in (
        "imported",
        "judge unknown",
        "tokens unknown",
        "cost unknown",
        "4 verdicts as recorded",
        "4 verdicts are the recording's own, without evidence",
        "taken as failed",
        "Samplingunknown",
        "Conversationunknown",
        "Promptsunknown",
        "Import it again",
    ):
        assert text in said, text
    assert "&lt;own&gt;.jsonl" in page
    # What would ask its model is not offered.
    for path in (f"/runs/{run_id}/retry", f"/runs/new?clone={run_id}", f"/runs/{run_id}/fresh-starts"):
        assert f'"{path}"' not in page
    assert workshop.client.get(f"/runs/new?clone={run_id}").status_code == 409
    assert "own-model" not in workshop.client.get("/runs/new").text
    listed = workshop.client.get("/runs").text
    assert "imported" in words(listed)
    assert f"clone={run_id}" not in listed
    assert "judging outdated" not in words(listed)
    board = words(workshop.client.get("/leaderboard").text)
    for text in ("Imported from LDB", "4 verdicts as recorded, not judged here"):
        assert text in board, text
    rows = workshop.client.get("/api/leaderboard").json()["rows"]
    assert [(row["imported_from"], row["tokens"], row["demo"]) for row in rows] == [("ldb", None, False)]
    assert rows[0]["conditions"]["prompts"] == "unknown"
    document = workshop.client.get(f"/api/runs/{run_id}").json()
    assert (document["imported_from"], document["judge_version"], document["judging_outdated"]) == ("ldb", None, False)
    assert document["caveats"]["recorded"] == 4
    assert document["recording"]["disagreements"] == []
    assert "temperature" in document["recording"]["unknown"]
    attempts = f"/runs/{run_id}/trajectories/{first(workshop, run_id) + 1}"
    trajectory = words(workshop.client.get(f"{attempts}?open=all").text)
    for text in ("Failed, cause not recorded", "as recorded, without evidence", "0 of 1 passed, as recorded"):
        assert text in trajectory, text


def first(workshop: Workshop, run_id: int) -> int:
    found: int = workshop.client.get(f"/api/runs/{run_id}/trajectories").json()["trajectories"][0]["id"]
    return found


def test_disagreements_are_listed_on_the_page_and_over_the_api(workshop: Workshop, sandbox: Sandbox) -> None:
    run_id = imported(workshop, sandbox)
    said = words(workshop.client.get(f"/runs/{run_id}").text)
    assert "Judged otherwise than recorded" in said
    assert "Small/2 0 Accepted Wrong answer" in said
    (one,) = workshop.client.get(f"/api/runs/{run_id}").json()["recording"]["disagreements"]
    assert (one["label"], one["attempt"], one["recorded"], one["judged"], one["counts"]) == (
        "Small/2", 0, "AC", "WA", True,
    )  # fmt: skip


def test_demo_data_says_so_and_an_imported_run_is_removed(workshop: Workshop) -> None:
    run_id = imported(workshop, demo=True)
    assert "demo data" in words(workshop.client.get(f"/runs/{run_id}").text)
    assert "demo data" in words(workshop.client.get("/runs").text)
    assert f'action="/runs/{run_id}/remove"' in workshop.client.get(f"/runs/{run_id}").text
    gone = workshop.client.post(f"/runs/{run_id}/remove")
    assert (gone.status_code, gone.headers["location"]) == (303, "/runs")
    assert workshop.client.get(f"/runs/{run_id}").status_code == 404
    again = imported(workshop)
    assert workshop.client.delete(f"/api/runs/{again}").status_code == 204
    assert workshop.client.delete(f"/api/runs/{again}").status_code == 404


def test_when_a_run_was_made_is_said_only_where_its_recording_says_it(workshop: Workshop) -> None:
    run_id = imported(workshop)
    with workshop.database.read() as session:
        at = session.scalars(select(Recording.imported_at)).one()
    here = f"{at:%Y-%m-%d %H:%M}"
    export = f"/api/runs/{run_id}/export"
    assert f"imported {here}" in words(workshop.client.get("/runs").text)
    for page in (f"/runs/{run_id}", "/leaderboard"):
        assert "Madeelsewhere; when, is not recorded" in words(workshop.client.get(page).text)
    said = workshop.client.get(f"{export}/methods").text
    assert "seed 0, imported from a recording that does not say when it was made." in said
    own, *_ = workshop.client.get(f"{export}/bibtex").text.split("@article")
    assert f"@misc{{halflife-run-{run_id}," in own
    assert "year" not in own
    recording, *trajectories = workshop.client.get(f"{export}/jsonl").text.splitlines(keepends=True)
    header = json.loads(recording)
    for document in (
        *workshop.client.get("/api/runs").json()["runs"],
        *workshop.client.get("/api/leaderboard").json()["rows"],
        workshop.client.get(f"/api/runs/{run_id}").json(),
        workshop.client.get(f"{export}/json").json()["run"],
        header["run"],
    ):
        assert (document["created_at"], document["finished_at"]) == (None, None)

    header["run"] |= {"created_at": "2024-05-06T07:08:00+00:00", "finished_at": "2024-05-06T09:10:00+00:00"}
    file = "".join([json.dumps(header) + "\n", *trajectories]).encode()
    request = RecordingRequest(format="halflife", problem_set_id=None)
    told = import_recording(workshop.database, {"": file}, request, file_name="own.jsonl", judge=None).run
    listed = words(workshop.client.get("/runs").text)
    assert "2024-05-06 07:08" in listed
    assert listed.count("imported 20") == 1
    page = words(workshop.client.get(f"/runs/{told}").text)
    assert "Started2024-05-06 07:08 UTC" in page
    assert "Finished2024-05-06 09:10 UTC" in page
    assert workshop.client.get(f"/api/runs/{told}").json()["created_at"] == "2024-05-06T07:08:00Z"
    assert "started 2024-05-06, ended 2024-05-06" in workshop.client.get(f"/api/runs/{told}/export/methods").text


def test_a_run_is_exported_as_a_recording(workshop: Workshop) -> None:
    run_id = imported(workshop)
    answer = workshop.client.get(f"/api/runs/{run_id}/export/jsonl")
    assert answer.headers["content-type"] == "application/jsonl"
    head, *trajectories = map(json.loads, answer.text.splitlines())
    assert (head["halflife_recording"], head["problem_set"]["name"], len(trajectories)) == (1, "Small", 3)
    assert [one["recorded_verdict"] for one in trajectories[1]["attempts"]] == [None, "AC"]

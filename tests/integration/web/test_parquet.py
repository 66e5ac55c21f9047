"""The attempts of a run as Parquet: as its CSV and JSON have them, typed, and with what must be said of the run."""

import csv
import importlib.util
import io
import json
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlalchemy import select

from app.db.models import (
    Attempt,
    ModelEndpoint,
    ProblemRow,
    ProblemSetRow,
    Recording,
    Rejudging,
    RejudgingStatus,
    SupersededJudgement,
)
from app.web import parquet as written
from app.web.whole_run import COLUMNS
from tests.fixtures.example_data import EPOCH, HOSTILE, store_run
from tests.integration.web.conftest import Site, Workshop

JSON_TEXTS = ("messages", "program", "first_failure")
RAW_TEXTS = ("reply", "feedback", "stdout", "stderr")
HOW = "to add it: .venv/bin/pip install 'halflife[parquet]'"


def export(site: Site | Workshop, run_id: int, format_: str = "parquet") -> bytes:
    answer = site.client.get(f"/api/runs/{run_id}/export/{format_}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="run-{run_id}.{format_}"'
    return answer.content


def rows(content: bytes) -> list[dict[str, Any]]:
    return parquet.read_table(io.BytesIO(content)).to_pylist()


def document(content: bytes) -> dict[str, Any]:
    return json.loads(parquet.read_schema(io.BytesIO(content)).metadata[b"halflife"])


def in_csv(value: Any) -> str:
    """As a cell of the CSV, by docs/exports.md."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat()
        case list():
            return json.dumps(value)
        case _:
            return str(value)


@pytest.mark.parametrize("name", ["completed", "cancelled", "repairs", "running", "hostile"])
def test_every_row_and_value_of_the_csv(site: Site, name: str) -> None:
    run_id = getattr(site.example, name)
    expected = list(csv.DictReader(io.StringIO(export(site, run_id, "csv").decode(), newline="")))
    found = [{key: in_csv(row[key]) for key in COLUMNS} for row in rows(export(site, run_id))]
    assert len(expected) > 2
    assert found == expected


@pytest.mark.parametrize("name", ["completed", "hostile"])
def test_every_text_of_the_json(site: Site, name: str) -> None:
    run_id = getattr(site.example, name)
    exported = json.loads(export(site, run_id, "json"))
    found = rows(export(site, run_id))
    attempts = [attempt for one in exported["trajectories"] for attempt in one["attempts"]]
    for row, attempt in zip(found, attempts, strict=True):
        assert row["attempt_id"] == attempt["attempt_id"]
        for text in JSON_TEXTS:
            assert (None if row[text] is None else json.loads(row[text])) == attempt[text]
        for text in RAW_TEXTS:
            assert (None if row[text] is None else row[text].decode("utf-8", "surrogatepass")) == attempt[text]


def test_nul_and_lone_surrogates_survive_and_hidden_cases_stay_hidden(site: Site) -> None:
    first, *_ = rows(export(site, site.example.hostile))
    # U+D800 in three bytes, as UTF-8 would write it if it could.
    assert b"\x00\xed\xa0\x80" in first["stdout"]
    assert first["stdout"].decode("utf-8", "surrogatepass") == HOSTILE
    assert json.loads(first["messages"]) == [{"role": "user", "content": HOSTILE}]
    assert json.loads(first["first_failure"]) == {"index": 0, "visible": False, "disclosed": False}


def test_columns_are_typed(site: Site) -> None:
    schema = parquet.read_schema(io.BytesIO(export(site, site.example.completed)))
    utc = pa.timestamp("us", tz="UTC")
    for name, kind in {
        "run": pa.int64(), "problem": pa.string(), "solved_at": pa.int64(), "counts": pa.bool_(), "weak": pa.bool_(),
        "answered_at": utc, "judged_at": utc, "cost": pa.float64(), "cpu_ms": pa.float64(), "exit_code": pa.int64(),
        "superseded_verdicts": pa.list_(pa.string()), "verdict": pa.string(), "judge_version": pa.int64(),
        "messages": pa.string(), "reply": pa.binary(), "program": pa.string(), "stderr": pa.binary(),
    }.items():  # fmt: skip
        assert schema.field(name).type == kind, name
    assert schema.names == [*COLUMNS, "messages", "reply", "program", "feedback", "first_failure", "stdout", "stderr"]


def test_a_run_without_attempts_keeps_its_problems_and_types(site: Site) -> None:
    content = export(site, site.example.waiting)
    assert parquet.read_schema(io.BytesIO(content)).field("answered_at").type == pa.timestamp("us", tz="UTC")
    found = rows(content)
    assert [(row["position"], row["attempt"], row["verdict"], row["reply"]) for row in found] == [
        (position, None, None, None) for position in range(5)
    ]


def test_it_is_written_by_row_groups(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "_ROWS", 100)
    # 96 × 1 + 23 × 2 + 16 × 3 + 5 × 4 + 2 × 5 + 4 × 6 attempts of the solved ones, 18 × 6 of the others.
    parts = list(written.parquet_parts(site.database, site.example.completed))
    assert len(parts) == 5
    assert all(parts)
    file = parquet.ParquetFile(io.BytesIO(b"".join(parts)))
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert sizes == [100, 100, 100, 52]
    attempts = file.read().column("attempt_id").to_pylist()
    assert len(set(attempts)) == 352


def test_its_metadata_say_what_the_run_is(site: Site) -> None:
    said = document(export(site, site.example.repairs))
    assert said == {
        key: value
        for key, value in json.loads(export(site, site.example.repairs, "json")).items()
        if key != "trajectories"
    }
    assert (said["run"]["id"], said["run"]["protocol"]["attempts"]) == (site.example.repairs, 3)
    assert (said["run"]["imported_from"], said["run"]["demo"]) == (None, False)
    # Solved at 0, 1, never and 2: 1 + 2 + 3 + 3 attempts, twice.
    assert "18 verdicts without isolation" in said["cautions"]
    assert said["versions"].keys() == {"metrics", "prompts", "judge_of_run", "judge_today"}


def test_imported_demo_data_say_so_and_old_verdicts_stay(workshop: Workshop) -> None:
    with workshop.database.write() as session:
        problems = session.scalars(select(ProblemRow).where(ProblemRow.problem_set_id == workshop.problem_set)).all()
        run = store_run(
            session,
            session.get_one(ProblemSetRow, workshop.problem_set),
            problems,
            session.get_one(ModelEndpoint, workshop.model),
            [("W", "A")],
        )
        run_id = run.id
        run.imported_from, run.demo, run.unknown = "ldb", True, ["prompts"]
        session.add(
            Recording(
                run_id=run_id, identity="i", file_name="f", sha256="s", imported_at=EPOCH, re_executed=False,
                skipped=[], notes=["the last line was blank"],
            )
        )  # fmt: skip
        first = session.scalars(select(Attempt).order_by(Attempt.id)).first()
        assert first is not None
        rejudging = Rejudging(run_id=run_id, judge_version=2, status=RejudgingStatus.APPLIED, created_at=EPOCH)
        session.add(rejudging)
        session.flush()
        session.add(
            SupersededJudgement(
                attempt_id=first.id, verdict="TLE", replaced_by="WA", judge_version=1, judged_at=EPOCH,
                rejudging_id=rejudging.id, judgement={},
            )
        )  # fmt: skip
    content = export(workshop, run_id)
    said = document(content)
    assert (said["run"]["imported_from"], said["run"]["demo"], said["run"]["unknown"]) == ("ldb", True, ["prompts"])
    assert "demo data" in said["cautions"]
    assert said["notes"] == ["the last line was blank"]
    assert [row["superseded_verdicts"] for row in rows(content)] == [["TLE"], None]


def test_without_pyarrow_page_and_api_say_how_to_get_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = site.example.completed
    link = f'href="/api/runs/{run_id}/export/parquet"'
    shown = site.client.get(f"/runs/{run_id}").text
    assert link in shown
    assert "halflife[parquet]" not in shown
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else there(name))
    shown = site.client.get(f"/runs/{run_id}").text
    assert link not in shown
    assert HOW.replace("'", "&#39;") in shown
    answer = site.client.get(f"/api/runs/{run_id}/export/parquet")
    assert answer.status_code == 400
    assert HOW in answer.json()["error"]


def test_a_run_that_is_not_there(site: Site) -> None:
    assert site.client.get("/api/runs/999/export/parquet").status_code == 404

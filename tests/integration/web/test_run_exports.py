"""A run as files."""

import csv
import io
import json
import re

from sqlalchemy import func, select

from app.db.models import Attempt, Trajectory, Transcript
from app.domain.metrics.figures import METRICS_VERSION
from app.web.whole_run import COLUMNS
from tests.fixtures.example_data import HOSTILE
from tests.integration.web.conftest import Site


def table(site: Site, run_id: int) -> list[dict[str, str]]:
    answer = site.client.get(f"/api/runs/{run_id}/export/csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="run-{run_id}.csv"'
    csv.field_size_limit(10_000_000)
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def test_a_row_an_attempt_and_one_for_each_problem_without_any(site: Site) -> None:
    # 12 solved at 0, 5 at 1, 2 at 2: 12 + 10 + 6 attempts; 6 cancelled after two, one broken after one; 4 without any.
    rows = table(site, site.example.cancelled)
    assert len(rows) == 12 + 10 + 6 + 12 + 1 + 4
    assert [row["attempt"] for row in rows if row["outcome"] == "cancelled"].count("") == 4
    assert len({row["trajectory"] for row in rows}) == 30
    with site.database.read() as session:
        stored = session.scalar(
            select(func.count())
            .select_from(Attempt)
            .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
            .where(Trajectory.run_id == site.example.cancelled)
        )
    assert sum(row["attempt_id"] != "" for row in rows) == stored


def test_every_column_is_exported_and_documented(site: Site) -> None:
    with open("docs/exports.md", encoding="utf-8") as file:
        described = set(re.findall(r"`(\w+)`", file.read()))
    assert set(COLUMNS) <= described
    columns = {column.name for column in Attempt.__table__.columns} - {"id", "trajectory_id", "attempt_index"}
    assert columns <= set(COLUMNS)
    (first, *_) = table(site, site.example.completed)
    assert (first["model"], first["problem"], first["attempt"]) == ("codestral:22b", "HumanEval/0", "0")
    assert (first["counts"], first["cases_total"], first["sandbox"]) == ("true", "7", "bubblewrap")


def test_json_holds_protocol_versions_figures_and_every_text(site: Site) -> None:
    document = site.client.get(f"/api/runs/{site.example.completed}/export/json").json()
    assert document["run"]["protocol"]["attempts"] == 6
    assert document["figures"]["solved"] == [96, 23, 16, 5, 2, 4]
    assert document["versions"]["metrics"] == METRICS_VERSION
    assert document["fits"]["careful"]["status"] == "decay"
    assert len(document["trajectories"]) == 164
    texts = {column.name for column in Transcript.__table__.columns} - {"attempt_id"}
    assert all(texts <= set(attempt) for one in document["trajectories"] for attempt in one["attempts"])
    assert "api_key" not in json.dumps(document)


def test_hostile_texts_survive_and_hidden_cases_stay_hidden(site: Site) -> None:
    document = json.loads(site.client.get(f"/api/runs/{site.example.hostile}/export/json").content)
    (attempt, *_) = document["trajectories"][0]["attempts"]
    assert attempt["reply"] == HOSTILE
    assert attempt["first_failure"] == {"index": 0, "visible": False, "disclosed": False}


def test_the_chart_and_bibtex(site: Site) -> None:
    run = site.example.completed
    svg = site.client.get(f"/api/runs/{run}/export/svg")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert "codestral:22b on HumanEval" in svg.text
    assert site.client.get(f"/api/runs/{run}/export/png").content.startswith(b"\x89PNG")
    bibtex = site.client.get(f"/api/runs/{run}/export/bibtex").text
    assert len(re.findall(r"^@", bibtex, re.MULTILINE)) == 3
    assert f"@misc{{halflife-run-{run}," in bibtex
    assert bibtex.count("{") - bibtex.count(r"\{") == bibtex.count("}") - bibtex.count(r"\}")


def test_tables_and_a_methods_section(site: Site) -> None:
    run = site.example.completed
    table_of = site.client.get(f"/api/runs/{run}/export/latex")
    assert table_of.headers["content-disposition"] == f'attachment; filename="run-{run}.tex"'
    text = table_of.text
    # 96 of 164 with Wilson's interval; 23 of the 68 left; the published λ.
    assert r"E0 & 58.5 \% & 50.9 -- 65.8 \\" in text
    assert r"1 & 23 & 68 & 33.8 & 23.7 -- 45.7 &" in text
    assert r"$\lambda$, published fit & 0.339" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\begin{tabular}") == 2
    for tabular in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end", text, re.DOTALL):
        rows = [line for line in tabular[1].splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(tabular[0]) - 1}
    said = site.client.get(f"/api/runs/{run}/export/methods").text
    for part in [
        "codestral:22b (asked for codestral:22b) on HumanEval, version 1 (content 19f3a1c5be207d4119f3a1c5be207d41",
        "seed 0, started 2026-03-01, ended 2026-03-01",
        "164 problems of 164 with a verdict: 0 excluded",
        "attempts 6; feedback first failing visible case",
        "halflife runs create --problems HumanEval@1",
        "Halflife 0.1.0, figures of version",
        "[5] Kaplan",
    ]:
        assert part in said, part
    # Nothing is compared, so nothing of pairs is cited.
    assert "McNemar" not in said


def test_a_run_without_a_verdict_and_one_that_is_not_there(site: Site) -> None:
    for format_ in ("svg", "latex", "methods"):
        assert site.client.get(f"/api/runs/{site.example.waiting}/export/{format_}").status_code == 200
    assert len(table(site, site.example.waiting)) == 5
    assert site.client.get("/api/runs/999/export/csv").status_code == 404
    assert site.client.get("/api/runs/1/export/exe").status_code == 404

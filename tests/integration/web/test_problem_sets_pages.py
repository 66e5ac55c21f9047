"""Uploading problem sets in the browser and over the API, and finding problems in them."""

import re

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import undefer

from app.db.models import BuggyProgramRow, ProblemImport, ProblemRow
from app.services.upload_problem_set import MAX_UPLOAD_BYTES
from app.web import body_limit
from tests.integration.web.conftest import Site, Workshop
from tests.integration.web.test_pages import words

FILE = {"file": ("Own.json", b'{"problems": []}', "application/json")}


def test_a_file_is_queued_for_an_execute_worker(workshop: Workshop) -> None:
    form = workshop.client.get("/problem-sets/new").text
    assert 'action="/problem-sets/imports" enctype="multipart/form-data"' in form
    assert '<option value="quixbugs" >QuixBugs (zip of its repository)</option>' in form
    sent = workshop.client.post("/problem-sets/imports", files=FILE, data={"format": "native", "licence": "MIT"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/problem-sets/imports/1")
    assert [".execute." in name for name in workshop.wakes()] == [True]
    page = workshop.client.get("/problem-sets/imports/1").text
    assert 'hx-get="/problem-sets/imports/1/live"' in page
    assert "Import of own" in words(page)
    assert "It waits for an execute worker" in words(page)
    assert "own under way" in words(workshop.client.get("/problem-sets").text)
    assert workshop.client.post("/problem-sets/imports/1/cancel").status_code == 303
    part = workshop.client.get("/problem-sets/imports/1/live").text
    assert "hx-get" not in part
    assert "Nothing was stored" in words(part)
    with workshop.database.read() as session:
        assert session.scalars(select(ProblemImport.upload)).all() == [None]


@pytest.mark.parametrize(
    ("files", "data", "field", "message"),
    [
        ({}, {"format": "native"}, "file", "Choose a file that is not empty."),
        ({"file": ("", b"")}, {"format": "native"}, "file", "Choose a file that is not empty."),
        (FILE, {"format": ""}, "format", "Choose one of"),
        (FILE, {"format": "pdb"}, "tests", "Files in the format pdb hold none"),
        (FILE | {"tests": ("t", b"{}")}, {"format": "native"}, "tests", "hold their tests themselves"),
        (FILE, {"format": "native", "name": "a\tb"}, "name", "Must not hold line breaks"),
    ],
    ids=["none", "empty", "format", "no tests", "two files", "name"],
)
def test_an_error_stands_at_its_field(
    workshop: Workshop, files: dict[str, tuple[str, bytes]], data: dict[str, str], field: str, message: str
) -> None:
    answer = workshop.client.post("/problem-sets/imports", files=files, data={"licence": "CC0-1.0", **data})
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert message in words(answer.text)
    assert 'value="CC0-1.0"' in answer.text
    with workshop.database.read() as session:
        assert session.scalars(select(ProblemImport.id)).all() == []


@pytest.mark.parametrize("address", ["/problem-sets/imports", "/api/problem-sets/imports"])
def test_a_format_with_its_tests_apart_takes_two_files(workshop: Workshop, address: str) -> None:
    files = {"file": ("Items.json", b"[]"), "tests": ("tests.jsonl", b"{}\n")}
    assert workshop.client.post(address, files=files, data={"format": "pdb"}).status_code in (202, 303)
    with workshop.database.read() as session:
        row = session.scalars(
            select(ProblemImport).options(undefer(ProblemImport.upload), undefer(ProblemImport.tests))
        ).one()
    assert (row.format, row.name, row.upload, row.tests) == ("pdb", "items", b"[]", b"{}\n")


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
def test_a_body_that_is_too_large_is_not_read(
    workshop: Workshop, announced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_limit, "MAX_BODY_BYTES", 100_000)
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    parts = [head, *[b"a" * 10_000] * 20, b"\r\n--x--\r\n"]
    answer = workshop.client.post(
        "/problem-sets/imports",
        content=b"".join(parts) if announced else iter(parts),
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    assert answer.status_code == 413
    assert f"more than {MAX_UPLOAD_BYTES // 2**20} MB were sent; nothing was stored" in words(answer.text)


def test_a_set_is_uploaded_over_the_api(workshop: Workshop) -> None:
    sent = workshop.client.post("/api/problem-sets/imports", files=FILE, data={"format": "native", "name": "mine"})
    assert sent.status_code == 202
    got = workshop.client.get("/api/problem-sets/imports/1").json()
    assert got == sent.json()
    assert (got["name"], got["finished_at"], got["error"], got["problem_set_id"]) == ("mine", None, None, None)
    refused = workshop.client.post("/api/problem-sets/imports", files=FILE, data={"format": "csv"})
    assert (refused.status_code, refused.json()["error"][:7]) == (400, "format:")
    assert workshop.client.post("/api/problem-sets/imports/1/cancel").json()["error"] == "cancelled"
    assert workshop.client.post("/api/problem-sets/imports/1/cancel").status_code == 409


def keys(markup: str) -> list[str]:
    return re.findall(r'/problems/\d+">([^<]+)</a>', markup)


def test_problems_are_searched_and_narrowed(site: Site) -> None:
    base = f"/problem-sets/{site.example.problem_set}"
    # Of HumanEval/0 to /163: 99 alone, and 100 … 109, 10.
    assert keys(site.client.get(f"{base}?q=EVAL/99").text) == ["HumanEval/99"]
    found = site.client.get(f"{base}?q=eval/10").text
    assert keys(found) == ["HumanEval/10", *(f"HumanEval/{n}" for n in range(100, 110))]
    assert "11 of 164 problems." in words(found)
    # The title is looked through, too, and wildcards are text.
    assert len(keys(site.client.get(f"{base}?q=close_el").text)) == 100
    assert "No problem matches" in words(site.client.get(f"{base}?q=close%25el").text)
    assert keys(site.client.get(f"{base}?tests=asserts").text) == ["HumanEval/1"]
    second = re.search(rf'href="({base}\?[^"]*after=99)"', site.client.get(f"{base}?q=human&buggy=1").text)
    assert second is not None
    assert keys(site.client.get(second[1].replace("&amp;", "&")).text) == [f"HumanEval/{n}" for n in range(100, 164)]
    assert site.client.get(f"{base}?q=%00%ED%A0%80").status_code == 200


def test_only_problems_with_buggy_programs(workshop: Workshop) -> None:
    with workshop.database.write() as session:
        first, *_ = session.scalars(select(ProblemRow.id).order_by(ProblemRow.position))
        session.execute(delete(BuggyProgramRow).where(BuggyProgramRow.problem_id == first))
        session.execute(update(ProblemRow).where(ProblemRow.id == first).values(difficulty="hard"))
    base = f"/problem-sets/{workshop.problem_set}"
    assert keys(workshop.client.get(f"{base}?buggy=1").text) == ["Small/1", "Small/2"]
    assert keys(workshop.client.get(f"{base}?difficulty=hard").text) == ["Small/0"]

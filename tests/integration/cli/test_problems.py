"""`halflife problems`: what is imported, and what is refused with which words."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.config import ROOT
from app.datasets.native import read
from tests.integration.cli.conftest import Ended, Home

PUBLISHED = ROOT.parent / "shared" / "data" / "humaneval" / "HumanEval.jsonl.gz"

DOUBLE: dict[str, Any] = {
    "key": "double",
    "entry_point": "double",
    "signature": "def double(x): ...",
    "reference": ["def double(x):", "    return 2 * x"],
    "cases": [{"arguments": [2], "expected": 4, "visible": True}, {"arguments": [0], "expected": 0}],
    "buggy": [
        {"key": "square", "source": ["def double(x):", "    return x * x"], "bugs": [{}]},
        {"key": "triple", "source": ["def double(x):", "    return 3 * x"], "bugs": [{}]},
    ],
}
OWN = {
    "task_id": "Own/0",
    "prompt": 'def double(x):\n    """Twice x."""\n',
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    "entry_point": "double",
}


def native(*problems: dict[str, Any]) -> bytes:
    return json.dumps({"licence": "CC0-1.0", "problems": problems}).encode()


def json_lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def without(problem: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in problem.items() if name not in names}


def test_the_starter(imported: tuple[Home, Ended]) -> None:
    home, ended = imported
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert list(document) == [
        "problem_set_id",
        "name",
        "version",
        "content_hash",
        "created",
        "problems",
        "buggy_programs",
        "weak",
        "rejected",
        "notes",
    ]
    assert (document["name"], document["version"], document["created"]) == ("starter", 1, True)
    assert (document["problems"], document["buggy_programs"], document["rejected"]) == (36, 36, [])
    # Progress is no part of the document.
    assert ended.err == "tried 36 of 36 problems\n"
    assert home.path.stat().st_mode & 0o777 == 0o700


def test_a_file_and_the_list(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "My.Small.set.json"
    file.write_bytes(native(DOUBLE))
    ended = home.run("problems", "import", file, "--format", "native", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    # The name is the file's up to its first point. For 2, squaring is doubling, and for 0 as well.
    assert (document["name"], document["problems"], document["buggy_programs"]) == ("my", 1, 1)
    assert document["rejected"] == [{"key": "double/square", "reason": "the buggy program passes every test"}]
    assert ended.err == "tried 1 of 1 problems\nleft out: double/square: the buggy program passes every test\n"

    listed = home.call("problems", "list", "--json")
    assert listed.code == 0
    mine, starter = json.loads(listed.out)
    assert mine == {
        "id": document["problem_set_id"],
        "name": "my",
        "version": 1,
        "content_hash": document["content_hash"],
        "problems": 1,
        "licence": "CC0-1.0",
    }
    assert (starter["name"], starter["version"], starter["problems"]) == ("starter", 1, 36)
    assert home.call("problems", "list").out.splitlines()[0] == f"my v1  1 problems  {document['content_hash'][:8]}"


PDB_RIGHT = "class Solution:\n    def twice(self, n):\n        return n + n"
PDB_ITEM = {
    "task_id": "7_0",
    "task_prompt": "Double it.\n\nStart the code with\n```\nclass Solution:\n    def twice(self, n: int) -> int:\n```",
    "gt_solution": PDB_RIGHT,
    "buggy_code": PDB_RIGHT.replace("n + n", "n * n"),
    "bug_count": 1,
    "gt_diff": {"3": {"type": "Modify", "original": "        return n * n", "modified": "        return n + n"}},
}
PDB_TESTS = {
    "pdb_task": "7",
    "entry_point": "Solution().twice",
    "prompt": "import math\n",
    "test": "def check(candidate):\n    assert candidate(n = 2) == 4\n    assert candidate(n = 3) == 6\n",
}


def test_a_format_whose_tests_lie_apart(home: Home, tmp_path: Path) -> None:
    items, tests = tmp_path / "pdb.json", tmp_path / "tests.jsonl"
    # The tests cannot tell n · n from n + n by their first case alone.
    harmless = {**PDB_ITEM, "task_id": "8_0"}
    items.write_text(json.dumps([PDB_ITEM, harmless, {**PDB_ITEM, "task_id": "9_0"}]))
    weaker = {**PDB_TESTS, "pdb_task": "8", "test": "def check(candidate):\n    assert candidate(n = 2) == 4\n"}
    tests.write_text("\n".join(map(json.dumps, [PDB_TESTS, weaker])))
    ended = home.call("problems", "import", items, "--format", "pdb", "--tests", tests, "--json")
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    assert (report["name"], report["problems"], report["buggy_programs"]) == ("pdb", 2, 1)
    assert [(one["key"], one["reason"]) for one in report["rejected"]] == [
        ("9_0", "the tests hold none of its task '9'"),
        ("8/8_0", "the buggy program passes every test"),
    ]
    repaired = tmp_path / "repaired.py"
    repaired.write_text(PDB_RIGHT)
    score = home.call("score", repaired, "--problems", "pdb", "--item", "7_0", "--json")
    assert json.loads(score.out)["f1"] == 1.0

    ended = home.call("problems", "import", items, "--format", "pdb")
    assert (ended.code, ended.err) == (2, "halflife: tests: pdb files hold no tests; give the file that has them\n")
    ended = home.call("problems", "import", "--builtin", "starter", "--tests", tests)
    assert (ended.code, ended.err) == (2, "halflife: --tests: a built-in set has its own\n")


def test_again_and_changed(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    file.write_bytes(native(DOUBLE))
    arguments = ("problems", "import", file, "--format", "native", "--name", "Mine")
    assert home.call(*arguments).out.startswith("Mine version 1 (")
    before = home.contents()
    assert "): there already, unchanged\n1 problems, 1 buggy programs, 1 items left out\n" in home.call(*arguments).out
    assert home.contents() == before
    file.write_bytes(gzip.compress(native({**DOUBLE, "title": "Twice"})))
    assert home.call(*arguments).out.startswith("Mine version 2 (")


def test_the_builtin_under_another_name(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    small = read(native(DOUBLE), "starter")
    monkeypatch.setattr("app.cli.problems.starter_set", lambda: small)
    ended = home.call("problems", "import", "--builtin", "starter", "--name", "copy", "--json")
    assert json.loads(ended.out)["name"] == "copy"


def test_characters_that_a_terminal_lacks(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    odd = {**without(DOUBLE, "buggy"), "key": "\ud800"}
    file.write_bytes(native({**without(DOUBLE, "buggy"), "key": "λ"}, odd))
    ended = home.run("problems", "import", file, "--format", "native", PYTHONIOENCODING="ascii")
    assert ended.code == 0, ended.err
    assert "left out: \\ud800: it holds a character that cannot be stored" in ended.err


@pytest.mark.shared_data
def test_the_first_published_problems(home: Home, tmp_path: Path) -> None:
    if not PUBLISHED.exists():
        pytest.skip("the public data folder is not beside the repository: ../shared/data/humaneval is missing")
    file = tmp_path / "humaneval.jsonl.gz"
    lines = gzip.decompress(PUBLISHED.read_bytes()).splitlines(keepends=True)
    file.write_bytes(gzip.compress(b"".join(lines[:5])))
    ended = home.run("problems", "import", file, "--format", "humaneval", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert (document["name"], document["problems"], document["buggy_programs"]) == ("humaneval", 5, 0)
    assert (document["weak"], document["rejected"], document["notes"]) == ([], [], [])


TRUNCATED = gzip.compress(native(DOUBLE))[:-20]
REFUSED: dict[str, tuple[bytes, list[str], str]] = {
    "unknown format": (
        native(DOUBLE),
        ["--format", "csv"],
        "unknown format 'csv'; known are humaneval, leetcode, mbpp, native, pdb, quixbugs",
    ),
    "no format": (
        native(DOUBLE),
        [],
        "--format: say which format the file has, one of humaneval, leetcode, mbpp, native, pdb, quixbugs",
    ),
    "wrong encoding": (
        '{"source":\n"für"}'.encode("latin-1"),
        ["--format", "native"],
        "line 2: the file is not UTF-8 text (byte 0xfc)",
    ),
    "empty": (b"", ["--format", "native"], "the file is empty"),
    "empty gzip": (gzip.compress(b" \n"), ["--format", "humaneval"], "the file is empty"),
    "truncated gzip": (TRUNCATED, ["--format", "native"], "the gzip stream is truncated"),
    "not JSON": (
        b'{"problems": [\n}',
        ["--format", "native"],
        "line 2: not valid JSON: Expecting value (column 1)",
    ),
    "another format": (
        json_lines(OWN),
        ["--format", "native"],
        "unknown field 'canonical_solution'; known are licence, source, notes, epsilon, problems",
    ),
    "no problems": (native(), ["--format", "native"], "field 'problems' holds no problem"),
    "key twice": (native(DOUBLE, DOUBLE), ["--format", "native"], "problem 'double' appears twice"),
    "task_id twice": (
        json_lines(OWN, OWN),
        ["--format", "humaneval"],
        "line 2: task_id 'Own/0' was already used in line 1",
    ),
    "no tests": (
        native(without(DOUBLE, "cases")),
        ["--format", "native"],
        "problem 'double': give one of cases, asserts, stdin, suite, command",
    ),
    "no cases": (
        native({**DOUBLE, "cases": []}),
        ["--format", "native"],
        "problem 'double': it has no test: 'cases' is empty",
    ),
    "failing reference only": (
        native({**without(DOUBLE, "buggy"), "reference": ["def double(x):", "    return x + 3"]}),
        ["--format", "native", "--name", "bad"],
        "no problem of bad is sound (double: its reference is not accepted: WA (wrong_value), 0 of 2 passed;"
        " first failing test 1: gave 5)",
    ),
    "file and builtin": (native(DOUBLE), ["--builtin", "starter"], "give either a file or --builtin"),
    "blank name": (native(DOUBLE), ["--format", "native", "--name", " "], "name: give the problem set a name"),
}


@pytest.mark.parametrize(("content", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(
    home: Home, tmp_path: Path, leaves_no_trace: Callable[[], None], content: bytes, options: list[str], said: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    ended = home.call("problems", "import", file, *options, "--json")
    assert (ended.code, ended.out) == (2, "")
    progress = "tried 1 of 1 problems\n" if "sound" in said else ""
    assert ended.err == f"{progress}halflife: {said}\n"


def test_a_path_that_is_no_file(bare_home: Home, tmp_path: Path) -> None:
    absent = tmp_path / "absent.json"
    ended = bare_home.run("problems", "import", absent, "--format", "native")
    assert (ended.code, ended.out, ended.err) == (2, "", f"halflife: {absent}: No such file or directory\n")
    ended = bare_home.call("problems", "import", tmp_path, "--format", "native")
    assert (ended.code, ended.out, ended.err) == (2, "", f"halflife: {tmp_path}: Is a directory\n")
    assert not bare_home.path.exists()


def test_neither_file_nor_builtin(bare_home: Home) -> None:
    ended = bare_home.call("problems", "import")
    assert (ended.code, ended.err) == (2, "halflife: give either a file or --builtin\n")


def test_a_builtin_that_does_not_exist(bare_home: Home) -> None:
    ended = bare_home.call("problems", "import", "--builtin", "mbpp")
    assert ended.code == 2
    assert "'mbpp' is not one of 'starter', 'humaneval'" in " ".join(ended.err.split())

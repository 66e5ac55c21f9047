"""`halflife score`."""

import json
from pathlib import Path

import pytest

from app.datasets import starter
from tests.integration.cli.conftest import Home

ITEM = ("--problems", "starter", "--item", "hall_bookings")


def program_of(folder: str, name: str = "hall_bookings") -> str:
    return (Path(starter.__file__).parent / folder / f"{name}.py").read_text()


@pytest.fixture
def rewrite(tmp_path: Path) -> Path:
    """The reference with a comment at the end of every line of its body."""
    head, _, body = program_of("references").partition("    ordered =")
    lines = "".join(f"{line}  # mine\n" for line in f"    ordered ={body}".splitlines())
    path = tmp_path / "rewrite.py"
    path.write_text(head + lines)
    return path


def test_a_rewrite_fixes_the_bug_and_is_not_precise(home: Home, rewrite: Path) -> None:
    ended = home.run("score", rewrite, *ITEM, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    # Seven lines are changed, of which one suffices.
    assert (found["problem"], found["item"], found["edits"]) == ("hall_bookings", "last-minute", 7)
    assert (found["precision"], found["recall"], found["f1"]) == (
        pytest.approx(1 / 7),
        1.0,
        pytest.approx(2 / 8),
    )
    assert found["unit_pass"] is True
    assert found["bugs"] == [{"block": 0, "rule": "wrap", "fixed": True, "essential": 1, "credit": 1.0}]
    assert (found["epsilon"], found["rules"], found["weak"]) == (2, "paper", False)
    text = home.call("score", rewrite, *ITEM, "--epsilon", "0", "--compat").out.splitlines()
    assert text[0] == "precision 14.3%  recall 100.0%  F1 25.0%  unit tests pass"
    assert text[1] == "7 line edits, ε = 0, rules of the published code"
    assert text[2].startswith(
        "bug 1 (line 14, Build/Package/Merge / Invalid API Call): fixed, 1 essential, credit 1; block A"
    )


def test_the_reference_and_no_change(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "any-name.py"
    path.write_text(program_of("references"))
    right = json.loads(home.call("score", path, *ITEM, "--json").out)
    assert (right["precision"], right["recall"], right["f1"], right["unit_pass"]) == (1.0, 1.0, 1.0, True)
    path.write_text(program_of("buggy"))
    same = json.loads(home.call("score", path, *ITEM, "--json").out)
    assert (same["precision"], same["recall"], same["f1"], same["unit_pass"]) == (0.0, 0.0, 0.0, False)
    assert same["bugs"] == [{"block": None, "rule": None, "fixed": False, "essential": None, "credit": 0.0}]


def test_a_reply_with_edits(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "reply.md"
    diff = "-        earlier = bisect.bisect_left({0}\n+        earlier = bisect.bisect_right({0}\n"
    path.write_text("The fix:\n```diff\n@@\n" + diff.format("ends, start - cleaning, 0, index)") + "```\n")
    found = json.loads(home.call("score", path, *ITEM, "--reply", "--json").out)
    assert (found["form"], found["obstacle"], found["precision"], found["recall"]) == ("unified_diff", None, 1.0, 1.0)
    path.write_text("The fix:\n```diff\n@@\n" + diff.format("begins)") + "```\n")
    found = json.loads(home.call("score", path, *ITEM, "--reply", "--json").out)
    assert (found["form"], found["obstacle"], found["part"]) == ("unified_diff", "lines_not_found", 1)
    assert (found["precision"], found["recall"], found["f1"], found["unit_pass"]) == (0.0, 0.0, 0.0, False)
    text = home.call("score", path, *ITEM, "--reply").out
    assert text.startswith("the reply repairs nothing: lines not found, edit 1\nprecision 0.0%")


@pytest.mark.parametrize("item", ["hall_bookings/last-minute", "last-minute"])
def test_an_item_by_its_names(home: Home, rewrite: Path, item: str) -> None:
    ended = home.call("score", rewrite, "--problems", "starter", "--item", item, "--json")
    assert json.loads(ended.out)["problem"] == "hall_bookings"


def test_an_item_that_is_not_there(home: Home, rewrite: Path) -> None:
    ended = home.call("score", rewrite, "--problems", "starter", "--item", "absent")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("halflife: starter has no buggy program 'absent'; there are 36: beacon_overlap/common-")

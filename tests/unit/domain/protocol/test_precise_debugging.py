"""What the two prompts for repairs ask, and which tests they list."""

import pytest

from app.domain import called
from app.domain.codec import encode
from app.domain.errors import InputError
from app.domain.problems import AssertTests, Case, CaseTests, Problem, StdinCase, StdinTests, Tests
from app.domain.programs import Program
from app.domain.protocol.edit_replies import read_repair
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start
from app.domain.protocol.precise_debugging import MOST_CHARACTERS, MOST_TESTS, task
from app.domain.protocol.prompts import Exchange, conversation

BUGGY = Program.single("def add(a, b):\n    return a - b\n")
RIGHT = Program.single("def add(a, b):\n    return a + b\n")


def problem(tests: Tests) -> Problem:
    return Problem("a", "A", "Add two numbers.", "def add(a, b): ...", "add", tests, RIGHT)


def cases(count: int, size: int = 1) -> CaseTests:
    """The first is visible."""
    return CaseTests(tuple(Case(encode(("x" * size, i)), encode(i), visible=i == 0) for i in range(count)))


def listed(tests: Tests, disclosure: Disclosure) -> list[str]:
    """The lines below the heading of the tests; none without it."""
    text = task(problem(tests), Prompts.MINIMAL, disclosure, BUGGY)
    return text.partition("Tests that it must pass:\n\n")[2].split("\n") if "Tests that" in text else []


def test_the_minimal_prompt_forbids_what_the_freeform_one_allows() -> None:
    minimal, freeform = (
        task(problem(cases(1)), prompts, Disclosure.VERDICT, BUGGY) for prompts in (Prompts.MINIMAL, Prompts.FREEFORM)
    )
    assert "fix only them" in minimal
    assert "add no comments" in minimal
    assert "only" not in freeform
    for text in (minimal, freeform):
        assert text.startswith("Task:\n\nAdd two numbers.\n\n")
        assert text.endswith("The buggy program:\n\n```python\ndef add(a, b):\n    return a - b\n```")
        assert "→" not in text


def test_tests_are_listed_as_far_as_feedback_may_show_them() -> None:
    assert listed(cases(3), Disclosure.VERDICT) == []
    assert listed(cases(3), Disclosure.VISIBLE) == ["add('x', 0) → 0"]
    assert listed(cases(3), Disclosure.ALL) == ["add('x', 0) → 0", "add('x', 1) → 1", "add('x', 2) → 2"]
    scripts = StdinTests((StdinCase("1 2\n", "3\n", visible=True), StdinCase("5\n", "6\n")))
    assert listed(scripts, Disclosure.VISIBLE) == ["input:", "1 2", "output:", "3", ""]
    code = AssertTests("def check(f):\n    assert f(1, 2) == 3\n", visible=("assert add(0, 0) == 0",))
    assert listed(code, Disclosure.VISIBLE) == ["assert add(0, 0) == 0"]
    assert listed(code, Disclosure.ALL) == ["```python", "def check(f):", "    assert f(1, 2) == 3", "```"]


def test_blank_lines_before_the_program_are_its_lines() -> None:
    buggy = Program.single("\n\ndef add(a, b):\n    c = a\n    c = a\n    return c - b\n")
    asked = task(problem(cases(1)), Prompts.MINIMAL, Disclosure.VERDICT, buggy)
    shown = asked.partition("The buggy program:\n\n```python\n")[2].split("\n")
    # A model counts the lines that it is shown; the number alone tells which of two equal lines is meant.
    line = shown.index("    c = a", shown.index("    c = a") + 1) + 1
    assert line == 5
    reply = f"```diff\n@@ -{line},1 +{line},1 @@\n-    c = a\n+    c = -a\n```\n"
    repaired = read_repair(reply, buggy, "add").program
    assert repaired == Program.single("\n\ndef add(a, b):\n    c = a\n    c = -a\n    return c - b\n")


def test_statements_are_listed_with_the_expression_that_is_compared() -> None:
    statements = ["first = Node(1)", "while first:\n    first = first.next", f"add({'x' * 500!r}, first)"]
    observed_cases = CaseTests(
        (Case(encode((statements,)), encode(True)), Case(encode((["len(add(1, 2))"],)), encode(2))),
        prelude="class Node: ...\n" + called.observed(),
        called=called.CALLED,
    )
    assert listed(observed_cases, Disclosure.ALL) == [
        "first = Node(1)",
        "while first:",
        "    first = first.next",
        f"add('{'x' * 500}', first) → True",
        "",
        "len(add(1, 2)) → 2",
    ]
    generator = CaseTests((Case(encode((1, 2)), encode([3])),), prelude=called.listed("add"), called=called.CALLED)
    assert listed(generator, Disclosure.ALL) == ["list(add(1, 2)) → [3]"]


def test_a_long_list_is_cut_and_says_so() -> None:
    assert listed(cases(25), Disclosure.ALL)[MOST_TESTS - 1 :] == ["add('x', 19) → 19", "… and 5 more"]
    # Values are cut to 400 characters: 14 lines of some 420 fit into 6,000.
    shown = listed(cases(25, size=1000), Disclosure.ALL)
    assert len("\n".join(shown[:-1])) <= MOST_CHARACTERS + len(shown)
    assert shown[-1] == f"… and {25 - len(shown[:-1])} more"
    assert 12 < len(shown[:-1]) < 16


def test_failed_replies_are_appended_to_the_task() -> None:
    policy = Protocol(start=Start.DEBUG, attempts=3, history=History.APPENDED, prompts=Prompts.FREEFORM)
    first = conversation(problem(cases(1)), policy, BUGGY, [])
    (again,) = conversation(problem(cases(1)), policy, BUGGY, [Exchange("one", "no."), Exchange("two", "neither.")])
    assert [message.role for message in first] == ["user"]
    assert again.content == (
        f"{first[0].content}\n\nEarlier answers, none of which is right:\n\nAnswer 1:\n\none\n\nWhat became of it: no."
        "\n\nAnswer 2:\n\ntwo\n\nWhat became of it: neither.\n\nCorrect the buggy program given above again, beginning"
        " from its original text."
    )


@pytest.mark.parametrize("prompts", [Prompts.MINIMAL, Prompts.FREEFORM])
def test_they_are_for_runs_that_start_from_a_buggy_program(prompts: Prompts) -> None:
    with pytest.raises(InputError, match=f"prompts: the {prompts} one asks for a repair"):
        Protocol(prompts=prompts)

"""The conversation that is sent."""

from dataclasses import replace

import pytest

from app.domain.codec import encode
from app.domain.problems import AssertTests, Case, CaseTests, Problem, StdinCase, StdinTests
from app.domain.programs import Program
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start
from app.domain.protocol.prompts import Exchange, conversation, disclosed_tests, prompts_name, request_seed

HIDDEN, VISIBLE = Case("hidden", "1"), Case("visible", "2", visible=True)
PROBLEM = Problem(
    key="p/1",
    title="One",
    statement="Add one.",
    signature="def f(x: int) -> int:\n    ...",
    entry_point="f",
    tests=CaseTests((HIDDEN, VISIBLE)),
    reference=Program.single("def f(x):\n    return x + 1\n"),
)
BUGGY = Program.single("def f(x):\n    return x - 1\n")
EXCHANGES = [Exchange("first", "wrong"), Exchange("second", "wrong again")]


def test_full_history_in_order() -> None:
    sent = conversation(PROBLEM, Protocol(), None, EXCHANGES)
    assert [m.role for m in sent] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [m.content for m in sent[2:]] == ["first", "wrong", "second", "wrong again"]


def test_last_exchange_alone() -> None:
    sent = conversation(PROBLEM, Protocol(history=History.LAST), None, EXCHANGES)
    assert [m.content for m in sent[2:]] == ["second", "wrong again"]


def test_the_task_never_holds_the_reference_or_the_tests() -> None:
    everything = "\n".join(m.content for m in conversation(PROBLEM, Protocol(), None, []))
    assert "Add one." in everything
    assert "def f(x: int) -> int:" in everything
    assert "return x + 1" not in everything
    assert "hidden" not in everything


def test_debugging_shows_the_buggy_program() -> None:
    sent = conversation(PROBLEM, Protocol(start=Start.DEBUG), BUGGY, [])
    assert "return x - 1" in sent[1].content


def test_debugging_without_a_program_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="p/1"):
        conversation(PROBLEM, Protocol(start=Start.DEBUG), None, [])


@pytest.mark.parametrize(
    ("disclosure", "shown"),
    [(Disclosure.VERDICT, None), (Disclosure.VISIBLE, (VISIBLE,)), (Disclosure.ALL, (HIDDEN, VISIBLE))],
)
def test_local_models_see_what_feedback_could_show(disclosure: Disclosure, shown: tuple[Case, ...] | None) -> None:
    tests = disclosed_tests(PROBLEM, Protocol(disclosure=disclosure))
    assert (tests and tests.cases) == shown


def test_disclosed_cases_run_as_all_of_them_do() -> None:
    how = CaseTests((HIDDEN, VISIBLE), fresh_process=True, prelude="def g(x): ...", called="g")
    disclosed = disclosed_tests(replace(PROBLEM, tests=how), Protocol(disclosure=Disclosure.VISIBLE))
    assert disclosed == replace(how, cases=(VISIBLE,))


def test_seeds_differ_and_repeat() -> None:
    seeds = {request_seed(s, k, n, a) for s in (0, 1) for k in ("a", "b") for n in (0, 1) for a in (0, 1)}
    assert len(seeds) == 16
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert request_seed(0, "a", 0, 0) == request_seed(0, "a", 0, 0)


LOOPS = Protocol(prompts=Prompts.FEEDBACK_LOOPS, disclosure=Disclosure.ALL)
DIGITS = Problem(
    key="add-digits",
    title="Add digits",
    statement="Given an integer num, repeatedly add all its digits.\n",
    signature="class Solution:\n    def addDigits(self, num: int, base: int) -> int:\n        ",
    entry_point="Solution.addDigits",
    tests=CaseTests(
        (
            Case(encode((38, 10)), encode(2), visible=True),
            Case(encode((77, 8)), encode(0)),
            *(Case(encode((number, 10)), encode(0), visible=True) for number in range(3)),
        )
    ),
    reference=Program.single("class Solution: ...\n"),
)
FIGURE_1 = (
    "You are a software developer. Implement a solution in Python for the following coding problem.\n"
    "Problem Description:\n"
    "Given an integer num, repeatedly add all its digits.\n"
    "Code Snippet:\n"
    "class Solution:\n"
    "    def addDigits(self, num: int, base: int) -> int:\n"
    "Testcases:\n"
    "num=38, base=10; num=0, base=10; num=1, base=10\n"
    "Additional Instructions:\n"
    "Follow the input constraints and write your code starting from the given code snippet. Ensure the code is "
    "well-formatted and adheres to best practices. Write the executable code only, avoid unnecessary explanations or "
    "comments."
)


def test_the_conversation_of_the_paper_word_by_word() -> None:
    sent = conversation(DIGITS, LOOPS, None, EXCHANGES)
    assert [(m.role, m.content) for m in sent] == [
        ("user", FIGURE_1),
        ("assistant", "first"),
        ("user", "wrong"),
        ("assistant", "second"),
        ("user", "wrong again"),
    ]


def test_the_hint_is_the_last_line_of_the_first_message() -> None:
    for policy in (LOOPS, Protocol()):
        plain, hinted = (conversation(DIGITS, replace(policy, hint=hint), None, EXCHANGES) for hint in (False, True))
        at = next(index for index, message in enumerate(plain) if message.role == "user")
        assert hinted[at].content == plain[at].content + "\nOptimize the time complexity of your algorithm."
        assert [*plain[:at], *plain[at + 1 :]] == [*hinted[:at], *hinted[at + 1 :]]


def test_hidden_cases_are_in_no_prompt_and_visible_ones_in_none_that_discloses_verdicts_alone() -> None:
    (task,) = conversation(DIGITS, LOOPS, None, [])
    assert "77" not in task.content
    (task,) = conversation(DIGITS, replace(LOOPS, disclosure=Disclosure.VERDICT), None, [])
    assert "Testcases" not in task.content
    assert "38" not in task.content


@pytest.mark.parametrize(
    ("tests", "signature", "shown"),
    [
        # Three values for two names: values alone.
        (CaseTests((Case(encode((1, "a", [2])), "N", visible=True),)), DIGITS.signature, "1, 'a', [2]"),
        (AssertTests("def check(candidate): ...", visible=("assert candidate(1, 2)",)), "", "assert candidate(1, 2)"),
        (StdinTests((StdinCase("9\n", "9\n"), StdinCase("3 4\n", "7\n", visible=True))), "", "3 4"),
    ],
)
def test_visible_cases_of_every_kind_are_listed(
    tests: CaseTests | AssertTests | StdinTests, signature: str, shown: str
) -> None:
    (task,) = conversation(replace(DIGITS, tests=tests, signature=signature), LOOPS, None, [])
    assert f"Testcases:\n{shown}\nAdditional Instructions:" in task.content


def test_a_system_prompt_of_the_runs_own_comes_first() -> None:
    sent = conversation(DIGITS, replace(LOOPS, system_prompt="Be brief."), None, [])
    assert [m.role for m in sent] == ["system", "user"]


def test_whose_prompts_they_are_is_in_their_name() -> None:
    assert prompts_name(1, LOOPS) == "of the paper on feedback loops, version 1"
    assert prompts_name(1, replace(LOOPS, hint=True)) == "of the paper on feedback loops, version 1, with the hint"

"""What a model is told: nothing that the protocol does not disclose."""

from dataclasses import replace

import pytest

from app.domain.protocol.feedback import feedback
from app.domain.protocol.policy import Disclosure, Prompts, Protocol
from app.domain.verdicts import FirstFailure, Judgement, MemoryTier, Verdict

FAILURE = FirstFailure(index=2, visible=True, input="(SECRET_IN,)", expected="SECRET_OUT", actual="ACTUAL", error=None)
WRONG = Judgement(
    verdict=Verdict.WA,
    reason="wrong_value",
    cases_passed=2,
    cases_run=5,
    cases_total=5,
    visible_passed=2,
    visible_total=3,
    sandbox="bubblewrap",
    memory_tier=MemoryTier.RLIMIT,
    judge_version=1,
    first_failure=FAILURE,
)
HIDDEN = replace(WRONG, first_failure=replace(FAILURE, visible=False))


@pytest.mark.parametrize(
    ("judgement", "disclosure", "shown"),
    [
        (WRONG, Disclosure.ALL, True),
        (WRONG, Disclosure.VISIBLE, True),
        (WRONG, Disclosure.VERDICT, False),
        (HIDDEN, Disclosure.ALL, True),
        (HIDDEN, Disclosure.VISIBLE, False),
        (HIDDEN, Disclosure.VERDICT, False),
    ],
)
def test_the_failing_case_is_shown_where_it_may_be(judgement: Judgement, disclosure: Disclosure, shown: bool) -> None:
    text = feedback(judgement, Protocol(disclosure=disclosure))
    assert text.startswith("Your program was judged: Wrong Answer.")
    for secret in ("SECRET_IN", "SECRET_OUT", "ACTUAL"):
        assert (secret in text) is shown


def test_a_hidden_failure_is_said_to_be_hidden() -> None:
    text = feedback(HIDDEN, Protocol(disclosure=Disclosure.VISIBLE))
    assert "It fails on a hidden test." in text
    assert "2 of 5" in text
    assert "hidden" not in feedback(HIDDEN, Protocol(disclosure=Disclosure.ALL))
    assert "2 of 5" not in feedback(HIDDEN, Protocol(disclosure=Disclosure.VERDICT))


def test_a_compile_error_is_always_shown() -> None:
    error = replace(FAILURE, visible=False, input="", expected=None, actual=None, error="SyntaxError: line 3")
    judgement = replace(WRONG, verdict=Verdict.CE, cases_passed=0, cases_run=0, first_failure=error)
    assert "SyntaxError: line 3" in feedback(judgement, Protocol(disclosure=Disclosure.VERDICT))


def test_an_error_is_told_with_its_input() -> None:
    error = replace(FAILURE, actual=None, error="ZeroDivisionError: division by zero")
    text = feedback(replace(WRONG, verdict=Verdict.RE, first_failure=error), Protocol(disclosure=Disclosure.VISIBLE))
    assert "Runtime Error" in text
    assert "ZeroDivisionError" in text
    assert "Actual:" not in text


PUBLISHED = [
    # Verdict, error of the hidden first failing case, and the whole message by what is disclosed: all, then visible.
    (
        Verdict.CE, "SyntaxError: line 3",
        "Your code crashed at a compile error: SyntaxError: line 3\nFix your code with above information.",
        "Your code crashed at a compile error: SyntaxError: line 3\nFix your code with above information.",
    ),
    (
        Verdict.RE, "IndexError: list index out of range",
        "Your code crashed at a runtime error: IndexError: list index out of range\n"
        "Fix your code with above information.",
        "Your code crashed at a runtime error.\nFix your code with above information.",
    ),
    (
        Verdict.WA, None,
        "Your code generated wrong outputs at testcase: (SECRET_IN,)\nExpected output: SECRET_OUT\n"
        "Actual output: ACTUAL",
        "Your code generated wrong outputs at a hidden testcase.",
    ),
    (
        Verdict.TLE, None,
        "Your code exceeded the maximum runtime allowance. Optimize the time complexity of your algorithm.",
        "Your code exceeded the maximum runtime allowance. Optimize the time complexity of your algorithm.",
    ),
    (
        Verdict.MLE, None,
        "Your code exceeded the maximum memory allowance. Optimize the space complexity of your algorithm to reduce "
        "memory usage.",
        "Your code exceeded the maximum memory allowance. Optimize the space complexity of your algorithm to reduce "
        "memory usage.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "error", "to_all", "to_visible"), PUBLISHED, ids=[one[0].value for one in PUBLISHED]
)
def test_the_feedback_of_the_paper_word_by_word(
    verdict: Verdict, error: str | None, to_all: str, to_visible: str
) -> None:
    failure = replace(FAILURE, visible=False, error=error, actual=None if error else "ACTUAL")
    judgement = replace(WRONG, verdict=verdict, first_failure=failure)
    told = {
        disclosure: feedback(judgement, Protocol(prompts=Prompts.FEEDBACK_LOOPS, disclosure=disclosure))
        for disclosure in Disclosure
    }
    assert told[Disclosure.ALL] == to_all
    assert told[Disclosure.VISIBLE] == to_visible
    assert "hidden" not in told[Disclosure.VERDICT]
    assert not any(secret in told[Disclosure.VERDICT] for secret in ("SECRET", "ACTUAL", "IndexError"))

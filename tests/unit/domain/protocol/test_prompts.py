"""The conversation that is sent."""

from dataclasses import replace

import pytest

from app.domain.problems import Case, CaseTests, Problem
from app.domain.programs import Program
from app.domain.protocol.policy import Disclosure, History, Protocol, Start
from app.domain.protocol.prompts import Exchange, conversation, disclosed_tests, request_seed

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

"""Repairs in words."""

import pytest

from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start
from app.web.repairs import mode_words


@pytest.mark.parametrize(
    ("prompts", "attempts", "disclosure", "said"),
    [
        (Prompts.MINIMAL, 1, Disclosure.VERDICT, "minimal prompt, single"),
        (Prompts.MINIMAL, 1, Disclosure.ALL, "minimal prompt, single, tests shown"),
        (Prompts.FREEFORM, 3, Disclosure.VERDICT, "freeform prompt, iterative, up to 3 rounds"),
        (Prompts.FREEFORM, 3, Disclosure.ALL, "freeform prompt, agentic, up to 3 rounds, tests shown"),
        (
            Prompts.FREEFORM,
            3,
            Disclosure.VISIBLE,
            "freeform prompt, iterative with visible cases, up to 3 rounds, visible tests shown",
        ),
        # Halflife's own prompt lists no test.
        (Prompts.HALFLIFE, 1, Disclosure.ALL, "halflife prompt, single"),
    ],
)
def test_prompt_and_mode_say_which_tests_a_model_was_shown(
    prompts: Prompts, attempts: int, disclosure: Disclosure, said: str
) -> None:
    protocol = Protocol(
        start=Start.DEBUG, attempts=attempts, history=History.APPENDED, prompts=prompts, disclosure=disclosure
    )
    assert mode_words(protocol) == said

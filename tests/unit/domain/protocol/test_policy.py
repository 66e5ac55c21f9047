"""What a protocol refuses, and how its limits combine with a problem's own."""

import pytest

from app.domain.errors import InputError
from app.domain.ports import Sampling
from app.domain.problems import Limits
from app.domain.protocol.policy import Prompts, Protocol, Start, check_system_prompt


def test_a_system_prompt_is_any_text_without_control_characters() -> None:
    check_system_prompt("役割:\u3000修正\u00a0者\n\tone\u200done\U0001f600")
    for text in ("a\x00", "a\x1b[0m", "a\u0085b", "\ud800"):
        with pytest.raises(InputError, match="control characters"):
            check_system_prompt(text)


OWN = Limits(cpu_seconds=2.0, memory_mb=256, output_bytes=1000)


@pytest.mark.parametrize(
    ("protocol", "in_force"),
    [
        (Protocol(), OWN),
        (Protocol(cpu_seconds=0.5), Limits(0.5, 256, 1000)),
        (Protocol(memory_mb=64), Limits(2.0, 64, 1000)),
        (Protocol(cpu_seconds=9.0, memory_mb=1024), Limits(9.0, 1024, 1000)),
    ],
)
def test_a_limit_that_is_not_given_is_the_problems_own(protocol: Protocol, in_force: Limits) -> None:
    assert protocol.limits(OWN) == in_force


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attempts": 0}, "attempts: must be between 1 and 50, not 0"),
        ({"attempts": 51}, "attempts: must be between 1 and 50, not 51"),
        ({"cpu_seconds": 0.0}, "CPU limit: must be above 0 and at most 300 s, not 0"),
        ({"cpu_seconds": float("nan")}, "CPU limit: must be above 0 and at most 300 s, not nan"),
        ({"cpu_seconds": 301.0}, "CPU limit: must be above 0 and at most 300 s, not 301"),
        ({"memory_mb": 31}, "memory limit: must be between 32 and 65536 MB, not 31"),
        ({"memory_mb": 65_537}, "memory limit: must be between 32 and 65536 MB, not 65537"),
        ({"temperature": -0.1}, "temperature: must be between 0 and 2, not -0.1"),
        ({"temperature": float("nan")}, "temperature: must be between 0 and 2, not nan"),
        ({"top_p": 0.0}, "top-p: must be above 0 and at most 1, not 0"),
        ({"prompts": Prompts.FEEDBACK_LOOPS, "start": Start.DEBUG}, "prompts: those of the paper"),
    ],
)
def test_what_no_run_can_do_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Protocol(**fields)  # type: ignore[arg-type]


def test_a_temperature_that_is_not_given_is_the_models_own() -> None:
    own = Sampling(temperature=0.8, top_p=None, max_tokens=99)
    assert Protocol().sampling(own) == own
    assert Protocol(temperature=0.0).sampling(own) == Sampling(0.0, None, 99)
    assert Protocol(top_p=0.3).sampling(own) == Sampling(0.8, 0.3, 99)

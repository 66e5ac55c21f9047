"""What must agree before two runs are compared."""

import hashlib
from dataclasses import fields, replace

import pytest

from app.domain.comparability import UNKNOWN, Conditions, ConditionsKey, Group, differences, usual
from app.domain.ports import Sampling
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start, StopOn
from app.domain.protocol.restart import FreshStart
from app.recordings import ldb, outcomes, tree

BASE = Conditions(
    problem_set_hash="a" * 64,
    problems=None,
    items=None,
    judge_version=2,
    protocol=Protocol(),
    prompts_version=1,
    sampling=Sampling(),
    sandboxes=("bubblewrap",),
    memory_tiers=("cgroup",),
)

OTHERS = {
    "problem_set_hash": replace(BASE, problem_set_hash="b" * 64),
    "problems": replace(BASE, problems=("one",)),
    "items": replace(BASE, items=("one/a",)),
    "judge_version": replace(BASE, judge_version=1),
    "prompts_version": replace(BASE, prompts_version=2),
    "sandboxes": replace(BASE, sandboxes=("bubblewrap", "none")),
    "memory_tiers": replace(BASE, memory_tiers=("rlimit",)),
    "start": replace(BASE, protocol=Protocol(start=Start.DEBUG)),
    "attempts": replace(BASE, protocol=Protocol(attempts=7)),
    "disclosure": replace(BASE, protocol=Protocol(disclosure=Disclosure.ALL)),
    "stop_on": replace(BASE, protocol=Protocol(stop_on=StopOn.VISIBLE)),
    "history": replace(BASE, protocol=Protocol(history=History.LAST)),
    "cpu_seconds": replace(BASE, protocol=Protocol(cpu_seconds=1.0)),
    "memory_mb": replace(BASE, protocol=Protocol(memory_mb=64)),
    "system_prompt": replace(BASE, protocol=Protocol(system_prompt="You repair programs.")),
    "fresh_start": replace(BASE, protocol=Protocol(fresh_start=FreshStart.parse("once:2"))),
    "prompts": replace(BASE, protocol=Protocol(prompts=Prompts.FEEDBACK_LOOPS)),
    "hint": replace(BASE, protocol=Protocol(hint=True)),
    "temperature": replace(BASE, sampling=Sampling(temperature=0.1)),
    "top_p": replace(BASE, sampling=Sampling(top_p=0.9)),
    "max_tokens": replace(BASE, sampling=Sampling(max_tokens=10)),
}


UNJUDGED = replace(BASE, sandboxes=(), memory_tiers=())


@pytest.mark.parametrize("condition", OTHERS)
def test_a_difference_in_any_condition_is_found_and_named(condition: str) -> None:
    assert [one.condition for one in differences(OTHERS[condition], BASE)] == [condition]


def test_every_field_of_protocol_and_sampling_is_a_condition_save_the_seed() -> None:
    named = {field.name for kind in (Protocol, Sampling, Conditions) for field in fields(kind)}
    assert named - {"protocol", "sampling", "seed", "unknown"} == set(OTHERS)
    assert differences(replace(BASE, protocol=Protocol(seed=9)), BASE) == ()


def test_what_a_recording_does_not_say_is_a_difference_whatever_stands_in_for_it() -> None:
    said = {name for form in (ldb, outcomes, tree) for name in form.UNKNOWN}
    assert said <= set(OTHERS)  # a misspelt name would be no condition
    recorded = replace(BASE, judge_version=None, unknown=tuple(sorted(said)))
    assert {(one.condition, one.value) for one in differences(recorded, BASE)} == {
        (name, UNKNOWN) for name in (*said, "judge_version")
    }
    # Recordings that say as little as each other may be compared.
    assert recorded.key() == replace(recorded, sampling=Sampling(max_tokens=1)).key() != BASE.key()


def test_what_was_sent_is_compared_whoever_asked_for_it() -> None:
    """A run's own temperature and top-p take the place of its model's."""
    by_run = replace(BASE, protocol=Protocol(temperature=0.1, top_p=0.95))
    by_model = replace(BASE, sampling=Sampling(temperature=0.1, top_p=0.95))
    assert differences(by_run, by_model) == ()
    assert by_run.key() == by_model.key()
    assert [(one.condition, one.value, one.usual) for one in differences(by_run, BASE)] == [
        ("temperature", 0.1, 0.8),
        ("top_p", 0.95, None),
    ]


def test_a_run_without_verdicts_differs_in_nothing_that_verdicts_show() -> None:
    assert differences(UNJUDGED, BASE) == differences(BASE, UNJUDGED) == ()


def test_the_usual_conditions_are_those_that_most_share_whatever_their_seed() -> None:
    def groups(*runs: Conditions) -> list[Group]:
        return [Group(one.key(), 1, newest) for newest, one in enumerate(runs)]

    other = OTHERS["attempts"]
    seeded = replace(BASE, protocol=Protocol(seed=5))
    assert usual(groups(BASE, seeded, other)) == Group(BASE.key(), 2, 1)
    assert usual(groups(BASE, other)) == Group(other.key(), 1, 1)
    assert usual([]) is None


@pytest.mark.parametrize("one", [BASE, *OTHERS.values(), UNJUDGED], ids=["base", *OTHERS, "unjudged"])
def test_keys_are_alike_where_there_is_no_difference(one: Conditions) -> None:
    for other in (BASE, *OTHERS.values(), UNJUDGED):
        assert one.key().alike(other.key()) == (differences(one, other) == ())
        assert (one.key() == other.key()) == (one == other)


def test_a_key_is_made_of_every_condition_by_name() -> None:
    """Keys are stored with figures: whoever changes this text raises METRICS_VERSION, or old runs differ from new."""
    text = (
        '{"attempts": 6, "cpu_seconds": null, "disclosure": "visible", "fresh_start": "none", "hint": false,'
        ' "history": "full", "items": null, "judge_version": 2, "max_tokens": 1024, "memory_mb": null,'
        ' "problem_set_hash": "' + "a" * 64 + '", "problems": null,'
        ' "prompts": "halflife", "prompts_version": 1, "start": "generate", "stop_on": "all",'
        ' "system_prompt": null, "temperature": 0.8, "top_p": null}'
    )
    assert BASE.key() == ConditionsKey(hashlib.sha256(text.encode()).hexdigest(), "bubblewrap", "cgroup")

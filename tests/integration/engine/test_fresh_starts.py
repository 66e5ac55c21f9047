"""Fresh starts and the arms of a comparison, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.db.models import RunStatus, Transcript
from app.domain.errors import ConflictError, InputError
from app.domain.protocol.restart import FreshStart
from app.domain.work import WorkerKind
from app.services.add_arms import ArmRequest, start_arms, start_decided_arms
from app.services.control_run import cancel_run, pause_run, resume_run
from app.services.share_attempts import share_attempts
from tests.fixtures.engine import CRASH, RIGHT, WRONG, Engine, requests_sent, store_problems, store_script

PRICED = {"price_input": 1.0, "price_output": 10.0}


def reply(text: str) -> dict[str, object]:
    return {"text": text, "prompt_tokens": 100, "completion_tokens": 20}


def arms(*texts: str) -> tuple[ArmRequest, ...]:
    return tuple(map(ArmRequest.parse, texts))


def sent(engine: Engine, run_id: int, position: int = 0) -> list[list[tuple[str, str]]]:
    """(role, content) of the messages of every attempt of a trajectory."""
    attempts = engine.attempts(engine.trajectories(run_id)[position].id)
    with engine.database.read() as session:
        transcripts = [session.get_one(Transcript, attempt.id) for attempt in attempts]
        return [[(message["role"], message["content"]) for message in one.messages] for one in transcripts]


def finish(engine: Engine) -> None:
    """Drain, and let arms go on, until nothing is left to do."""
    engine.drain()
    while share_attempts(engine.database):
        engine.drain()


def outcomes(engine: Engine, run_id: int) -> list[tuple[str | None, int | None, str]]:
    """Of each trajectory: its outcome, when it was solved, and the segment of every attempt."""
    return [
        (one.outcome, one.solved_at, "".join(str(attempt.segment) for attempt in engine.attempts(one.id)))
        for one in engine.trajectories(run_id)
    ]


def test_after_a_fresh_start_the_task_is_sent_alone(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(
        engine.database, engine.home, {"replies": {"a": [reply(WRONG), reply(CRASH)] + [reply("?")] * 4}}
    )
    run_id = engine.submit(problems, model, attempts=6, fresh_start=FreshStart.parse("once:2"))
    engine.drain()

    messages = sent(engine, run_id)
    # G D D G D D: attempts 0 and 3 get the system prompt and the task, each later one an exchange more.
    assert [len(one) for one in messages] == [2, 4, 6, 2, 4, 6]
    assert messages[3] == messages[0]
    assert messages[4][:2] == messages[0]
    assert messages[4][2] == ("assistant", "?")
    assert not any(WRONG in content or CRASH in content for one in messages[3:] for _, content in one)
    assert outcomes(engine, run_id) == [("exhausted", None, "000111")]


def test_an_adaptive_start_follows_a_repeated_program(engine: Engine) -> None:
    # Attempt 1 is attempt 0 with other blanks and a comment; nothing passes more visible cases than it.
    again = "```python\ndef add(a, b):  # subtract\n    return a-b\n```"
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(
        engine.database, engine.home, {"replies": {"a": [reply(WRONG), reply(again)] + [reply("?")] * 4}}
    )
    run_id = engine.submit(problems, model, attempts=4, fresh_start=FreshStart.parse("adaptive:3"))
    engine.drain()
    assert [attempt.repeats_attempt for attempt in engine.attempts(engine.trajectories(run_id)[0].id)] == [
        None,
        0,
        None,
        None,
    ]
    assert outcomes(engine, run_id) == [("exhausted", None, "0011")]


SCRIPT: dict[str, Any] = {
    "replies": {
        # By attempt: a is solved at 1; b never; c at 4.
        "a": [reply(WRONG), reply(RIGHT)] + [reply(CRASH)] * 4,
        "b": [reply(WRONG)] + [reply(CRASH)] * 5,
        "c": [reply(CRASH)] * 4 + [reply(RIGHT), reply(CRASH)],
    }
}


def test_arms_share_the_attempts_before_their_first_fresh_start(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b", "c"])
    model = store_script(engine.database, engine.home, SCRIPT, **PRICED)
    baseline = engine.submit(problems, model, attempts=6, arms=arms("once:2", "resample"))
    once, resample = baseline + 1, baseline + 2
    assert engine.drain() > 0
    # Nothing of an arm is asked before its baseline has come to where they part.
    assert [len(engine.attempts(one.id)) for run in (once, resample) for one in engine.trajectories(run)] == [0] * 6
    before = requests_sent(engine.home)
    assert len(before) == 2 + 6 + 5
    finish(engine)

    # once:2 has attempts 0, 1, 2 in common; a is solved within them.
    assert outcomes(engine, once) == [("solved", 1, "00"), ("exhausted", None, "000111"), ("solved", 4, "00011")]
    # Pure resampling has attempt 0 in common, and asks attempt 1 of a alone again: it is right by the script.
    assert outcomes(engine, resample) == [("solved", 1, "01"), ("exhausted", None, "012345"), ("solved", 4, "01234")]
    asked = requests_sent(engine.home)[len(before) :]
    assert sorted(asked) == sorted(
        [("b", 3), ("b", 4), ("b", 5), ("c", 3), ("c", 4)]  # once:2
        + [("a", 1)] + [("b", t) for t in range(1, 6)] + [("c", t) for t in range(1, 5)]  # resample
    )  # fmt: skip
    run = engine.run_row(once)
    # Shared: 2 + 3 + 3 attempts of 120 tokens, 300 millionths each; paid: the five of its own.
    assert (run.status, run.tokens_shared, run.tokens_spent) == (RunStatus.COMPLETED, 8 * 120, 5 * 120)
    assert run.cost_shared == pytest.approx(8 * 300e-6)
    assert run.cost_spent == pytest.approx(5 * 300e-6)
    theirs, own = engine.attempts(engine.trajectories(baseline)[1].id), engine.attempts(engine.trajectories(once)[1].id)
    assert [attempt.shared_from for attempt in own] == [*(attempt.id for attempt in theirs[:3]), None, None, None]
    assert [attempt.verdict for attempt in own[:3]] == [attempt.verdict for attempt in theirs[:3]]
    messages = sent(engine, once, 1)
    assert messages[:3] == sent(engine, baseline, 1)[:3]
    assert messages[3] == messages[0]


def test_arms_of_a_run_that_has_ended_share_what_it_has(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, SCRIPT)
    baseline = engine.submit(problems, model, attempts=6)
    engine.drain()
    before = len(requests_sent(engine.home))
    (arm,) = start_arms(engine.database, baseline, arms("once:4"), shares=True)
    finish(engine)
    assert outcomes(engine, arm) == [("solved", 1, "00"), ("exhausted", None, "000001")]
    assert requests_sent(engine.home)[before:] == [("b", 5)]


def test_independent_arms_ask_everything_themselves(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["b"])
    model = store_script(engine.database, engine.home, SCRIPT)
    baseline = engine.submit(problems, model, attempts=3, arms=arms("once:1"), arms_independent=True)
    engine.drain()
    assert outcomes(engine, baseline + 1) == [("exhausted", None, "001")]
    assert sorted(requests_sent(engine.home)) == [("b", 0), ("b", 0), ("b", 1), ("b", 1), ("b", 2), ("b", 2)]
    assert engine.run_row(baseline + 1).tokens_shared == 0


def test_an_arm_goes_on_by_itself_where_its_baseline_was_cut_short(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["b"])
    model = store_script(engine.database, engine.home, SCRIPT)
    baseline = engine.submit(problems, model, attempts=6, arms=arms("once:3"))
    for _ in range(2):  # attempt 0 is asked and judged
        claims = engine.claim(WorkerKind.GENERATE) or engine.claim(WorkerKind.EXECUTE)
        engine.perform(claims[0])
    assert share_attempts(engine.database) == 0
    cancel_run(engine.database, baseline)
    assert share_attempts(engine.database) == 1
    finish(engine)
    assert outcomes(engine, baseline) == [("cancelled", None, "0")]
    assert outcomes(engine, baseline + 1) == [("exhausted", None, "000011")]
    assert [a.shared_from is not None for a in engine.attempts(engine.trajectories(baseline + 1)[0].id)] == [True] + [
        False
    ] * 5


def test_a_waiting_arm_is_paused_resumed_and_cancelled_like_any_run(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, SCRIPT)
    baseline = engine.submit(problems, model, attempts=6, arms=arms("once:1", "once:2"))
    first, second = baseline + 1, baseline + 2
    pause_run(engine.database, first)
    cancel_run(engine.database, second)
    engine.drain()
    assert share_attempts(engine.database) == 0
    assert outcomes(engine, second) == [("cancelled", None, "")] * 2
    resume_run(engine.database, first)
    assert engine.drain() == 0, "a resumed arm still waits for what it shares"
    finish(engine)
    assert outcomes(engine, first) == [("solved", 1, "00"), ("exhausted", None, "001111")]


def test_two_workers_share_each_attempt_once(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b", "c"])
    model = store_script(engine.database, engine.home, SCRIPT)
    baseline = engine.submit(problems, model, attempts=6, arms=arms("once:1", "once:2", "every:1", "resample"))
    engine.drain()
    with ThreadPoolExecutor(4) as threads:
        shared = sum(threads.map(lambda _: share_attempts(engine.database), range(4)))
    # All four arms of all three problems part from a baseline that has ended.
    assert shared == 12
    engine.drain()
    for arm in range(baseline + 1, baseline + 5):
        for one in engine.trajectories(arm):
            attempts = engine.attempts(one.id)
            assert [attempt.attempt_index for attempt in attempts] == list(range(len(attempts)))


def decaying(engine: Engine) -> tuple[int, int]:
    """Problems and a model with t_80 = 3.

    Of 16, 8 are solved at t = 0 (50 %), 2 of 8 at t = 1 (25 %), 1 of 6 at t = 2 (16.7 %). λ lies between
    ln(50/25) = 0.69 and ln(25/16.7) = 0.41, so t_80 = ln 5/λ is between 2.3 and 4, and near the first two points,
    which weigh most: 3. t_99 = ln 100/λ > 6.6 leaves no attempt of six.
    """
    keys = [f"p{number:02}" for number in range(16)]
    solved_at = {key: 0 if n < 8 else 1 if n < 10 else 2 if n < 11 else None for n, key in enumerate(keys)}
    replies = {
        key: [reply(RIGHT if solved == t else WRONG if t % 2 else CRASH) for t in range(6)]
        for key, solved in solved_at.items()
    }
    problems = store_problems(engine.database, engine.sandbox, keys)
    return problems, store_script(engine.database, engine.home, {"replies": replies})


def test_an_arm_is_decided_by_the_curve_of_its_baseline(engine: Engine) -> None:
    problems, model = decaying(engine)
    baseline = engine.submit(problems, model, attempts=6, arms=arms("t80", "t99"))
    assert start_decided_arms(engine.database) == [], "the curve is not known before the baseline has ended"
    engine.drain()
    (arm,) = start_decided_arms(engine.database)
    assert start_decided_arms(engine.database) == []
    run = engine.run_row(arm)
    assert str(run.protocol.fresh_start) == "once:3"
    assert run.arm_origin == "t_80 of the baseline's curve"
    (refused,) = engine.run_row(baseline).arms_to_come or [{}]
    assert refused["theta"] == 99
    assert "the last of 6 attempts is attempt 5" in refused["refused"]


def test_a_baseline_without_a_curve_decides_no_arm(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, SCRIPT)
    baseline = engine.submit(problems, model, attempts=6)
    engine.drain()
    assert start_arms(engine.database, baseline, arms("t50"), shares=True) == []
    assert engine.run_row(baseline).arms_to_come == [
        {"theta": 50, "shares": True, "refused": "the baseline's curve has no t_50"}
    ]


def test_a_cancelled_baseline_decides_no_arm(engine: Engine) -> None:
    problems, model = decaying(engine)
    baseline = engine.submit(problems, model, attempts=6, arms=arms("t80"))
    engine.drain()
    cut = engine.submit(problems, model, attempts=6, arms=arms("t80"))
    cancel_run(engine.database, cut)
    engine.drain()
    assert len(start_decided_arms(engine.database)) == 1, "that of the first baseline alone"
    (refused,) = engine.run_row(cut).arms_to_come or [{}]
    assert refused["refused"] == f"run {cut} was cancelled, and the baseline's curve is cut short with it"
    with pytest.raises(InputError, match=f"arm: run {cut} was cancelled"):
        start_arms(engine.database, baseline, arms(f"t80:{cut}"), shares=True)


def test_a_calibration_run_decides_when_to_start_afresh(engine: Engine) -> None:
    problems, model = decaying(engine)
    calibration = engine.submit(problems, model, attempts=6)
    with pytest.raises(InputError, match=f"arm: run {calibration} has not ended"):
        engine.submit(problems, model, attempts=6, arms=arms(f"t80:{calibration}"))
    engine.drain()
    baseline = engine.submit(problems, model, attempts=6, arms=arms(f"t80:{calibration}"))
    arm = engine.run_row(baseline + 1)
    assert str(arm.protocol.fresh_start) == "once:3"
    assert arm.arm_origin == f"t_80 of the curve of run {calibration}"
    with pytest.raises(InputError, match="arm: there is no run 99"):
        start_arms(engine.database, baseline, arms("t80:99"), shares=True)


def test_what_cannot_be_compared_is_refused(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, SCRIPT)
    restarting = engine.submit(problems, model, attempts=4, fresh_start=FreshStart.parse("every:1"))
    with pytest.raises(ConflictError, match="starts afresh itself"):
        start_arms(engine.database, restarting, arms("once:1"), shares=True)
    baseline = engine.submit(problems, model, attempts=4, arms=arms("once:1"))
    with pytest.raises(InputError, match=f"once:1 is an arm already, run {baseline + 1}"):
        start_arms(engine.database, baseline, arms("once:1"), shares=True)
    with pytest.raises(InputError, match="would start afresh at attempt 4"):
        start_arms(engine.database, baseline, arms("once:3"), shares=True)
    with pytest.raises(InputError, match="the baseline is the arm without fresh starts"):
        arms("none")
    with pytest.raises(InputError, match="between 1 and 99"):
        arms("t100")
    assert engine.run_row(baseline + 1).trajectories_total == 1

"""The conversation of the paper on feedback loops as it is sent, and grids of sampling, on both databases."""

import pytest

from app.db.models import RunStatus, Transcript
from app.db.queries.fresh_starts import fresh_starts
from app.db.queries.grid import grid_of
from app.domain.errors import InputError
from app.domain.ports import Sampling
from app.domain.protocol.decide import Ask
from app.domain.protocol.grid import SamplingGrid
from app.domain.protocol.policy import Disclosure, Prompts, Protocol
from app.domain.protocol.presets import PRESETS
from app.domain.work import WorkerKind
from app.services.add_arms import ArmRequest, start_arms
from app.services.steps.situation import build_request, read_situation
from tests.fixtures.engine import CRASH, RIGHT, WRONG, Engine, store_problems, store_script

ITERATIVE = PRESETS["iterative"].protocol
TASK = (
    "You are a software developer. Implement a solution in Python for the following coding problem.\n"
    "Problem Description:\nAdd two numbers.\n"
    "Code Snippet:\ndef add(a: int, b: int) -> int:\n    ...\n"
    "Testcases:\na=1, b=2\n"
    "Additional Instructions:\n"
    "Follow the input constraints and write your code starting from the given code snippet. Ensure the code is "
    "well-formatted and adheres to best practices. Write the executable code only, avoid unnecessary explanations or "
    "comments.\n"
    "Optimize the time complexity of your algorithm."
)


def fields(protocol: Protocol) -> dict[str, object]:
    return {name: getattr(protocol, name) for name in protocol.__dataclass_fields__}


def test_the_published_protocols() -> None:
    common = {"disclosure": Disclosure.ALL, "prompts": Prompts.FEEDBACK_LOOPS}
    assert Protocol(attempts=10, temperature=0.9, top_p=0.3, **common) == ITERATIVE  # type: ignore[arg-type]
    assert PRESETS["baseline"].protocol == Protocol(attempts=1, temperature=0.1, top_p=0.95, **common)  # type: ignore[arg-type]


def test_what_is_sent_is_the_papers_conversation_with_the_runs_sampling(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    replies = [{"text": text, "prompt_tokens": 9, "completion_tokens": 9} for text in (WRONG, CRASH, RIGHT)]
    model = store_script(
        engine.database, engine.home, {"replies": {"a": replies}}, sampling=Sampling(0.8, None, max_tokens=77)
    )
    run_id = engine.submit(problems, model, **{**fields(ITERATIVE), "hint": True})
    (claim,) = engine.claim(WorkerKind.GENERATE)
    assert build_request(read_situation(engine.database, claim), Ask(0, 0)).sampling == Sampling(0.9, 0.3, 77)
    engine.perform(claim)
    engine.drain()

    (trajectory,) = engine.trajectories(run_id)
    with engine.database.read() as session:
        sent = [
            [(m["role"], m["content"]) for m in session.get_one(Transcript, one.id).messages or ()]
            for one in engine.attempts(trajectory.id)
        ]
    assert trajectory.outcome == "solved"
    assert sent[0] == [("user", TASK)]
    assert sent[1] == [
        ("user", TASK),
        ("assistant", WRONG),
        (
            "user",
            "Your code generated wrong outputs at testcase: (1, 2)\nExpected output: 3\nActual output: -1",
        ),
    ]
    assert sent[2][:4] == [*sent[1], ("assistant", CRASH)]
    role, crash = sent[2][4]
    assert role == "user"
    assert crash.startswith("Your code crashed at a runtime error: ")
    assert "ZeroDivisionError" in crash
    assert crash.endswith("\nFix your code with above information.")


def test_a_grid_makes_a_run_of_each_cell(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": WRONG})
    grid = SamplingGrid((0.1, 0.9), (0.3,))
    first = engine.submit(problems, model, attempts=2, grid=grid)
    engine.drain()
    cell = engine.run_row(first + 1)
    assert (cell.status, cell.baseline_run_id, cell.shares_attempts) == (RunStatus.COMPLETED, first, False)
    assert (cell.protocol.temperature, cell.protocol.top_p) == (0.9, 0.3)
    assert len(engine.requests()) == 2 * 2 * 2, "no cell shares attempts"
    with engine.database.read() as session:
        for run_id in (first, first + 1):
            cells = grid_of(session, run_id).cells
            assert [(one.run.id, one.temperature, one.top_p) for one in cells] == [
                (first, 0.1, 0.3),
                (first + 1, 0.9, 0.3),
            ]
        assert fresh_starts(session, first).arms == ()

    (arm,) = start_arms(engine.database, first + 1, [ArmRequest.parse("resample")], shares=False)
    with engine.database.read() as session:
        assert fresh_starts(session, arm).head.run.id == first + 1, "a cell is a baseline of its own"
        assert [one.run.id for one in grid_of(session, first).cells] == [first, first + 1]


def test_a_grid_and_arms_are_not_started_at_once(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": WRONG})
    grid = SamplingGrid((0.1, 0.9))
    with pytest.raises(InputError, match="either arms or a grid"):
        engine.submit(problems, model, attempts=3, grid=grid, arms=(ArmRequest.parse("once:1"),))
    dry = engine.submit(problems, model, attempts=3, grid=grid, dry_run=True)
    assert dry == 1
    assert engine.run_row(dry).protocol.temperature == 0.1
    with engine.database.read() as session:
        assert len(grid_of(session, dry).cells) == 1

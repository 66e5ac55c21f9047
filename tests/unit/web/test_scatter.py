"""Final accuracy against tokens: where the points are."""

from app.db.queries.leaderboard import BoardRow
from app.domain.metrics.decay import decay
from app.domain.metrics.figures import RunFigures
from app.domain.metrics.intervals import wilson
from app.domain.ports import Sampling
from app.domain.protocol.policy import Protocol
from app.web.board import Line
from app.web.scatter import Axis, accuracy_against
from tests.fixtures.example_data import EPOCH


def line(name: str, tokens: int, solved: int, *differs: str, cost: float | None = None) -> Line:
    """A run that solved so many of ten problems."""
    figures = RunFigures(
        decay=decay([solved], 10), solved=(solved,), censored=(0,), excluded=0, cut_short=0, ended_early=0,
        visible_only=0, running=0, waiting=0, attempts=10, weak=0, near_limit=0, unsandboxed=0, surplus=0,
        rejudged_midway=0, sandbox_failures=0, recorded=0, tokens_unknown=0, possibly_billed=0,
        repeats=wilson(0, 0), judge_versions={}, sandboxes={}, memory_tiers={}, repairs=None, unscored=0,
    )  # fmt: skip
    row = BoardRow(
        run_id=1, endpoint_id=1, model_name=name, model=name, sampling=Sampling(), problem_set_id=1,
        problem_set_name="s", problem_set_version=1, problem_set_hash="0", protocol=Protocol(attempts=1),
        prompts_version=1, judge_version=1, subset=None, items=None, imported_from=None, unknown=(), demo=False,
        status="completed", problems=10, ended=10, tokens=tokens, cost=cost, created_at=EPOCH,
        finished_at=EPOCH, figures=figures, measures=None,
    )  # fmt: skip
    return Line(row, differs, (), (), "")


def test_points_stand_at_their_tokens_and_accuracy() -> None:
    drawn = accuracy_against(Axis.TOKENS, [line("a", 1_000, 5), line("b", 10_000, 10, "attempts: 1 instead of 2")])
    assert drawn is not None
    # From 10^2.95 to 10^4.05 over x = 40 … 1040; from 0 to 100 % over y = 262 … 14.
    assert [(dot.x, dot.y) for dot in drawn.dots] == [(85.5, 138.0), (994.5, 14.0)]
    assert [dot.alike for dot in drawn.dots] == [True, False]
    assert [tick.label for tick in drawn.ticks] == ["1,000", "2,000", "5,000", "10,000"]
    # Wilson, 10 of 10: low = 10/(10 + z²) = 0.7225.
    assert drawn.dots[1].low == round(262 - 248 * 10 / 13.8415, 1)


def test_names_never_lie_on_each_other_and_one_run_is_no_comparison() -> None:
    # a and b lie on each other, 45 to the right of the axis: b's name fits before them only where it is short.
    for name, side in (("b", "end"), ("b" * 8, None)):
        drawn = accuracy_against(Axis.TOKENS, [line("a", 1_000, 5), line(name, 1_001, 5), line("c", 10_000, 5)])
        assert drawn is not None
        assert [dot.label and dot.label.side for dot in drawn.dots] == ["start", side, "start"]
    assert accuracy_against(Axis.TOKENS, [line("a", 1_000, 5)]) is None
    assert accuracy_against(Axis.TOKENS, [line("a", 0, 5), line("b", 1_000, 5)]) is None


def test_an_unknown_cost_is_no_place_on_the_axis() -> None:
    costs = (0.002, 0.02, None, 0.0)
    drawn = accuracy_against(Axis.COST, [line("a", 1, 5, cost=cost) for cost in costs])
    assert drawn is not None
    assert (len(drawn.dots), drawn.missing) == (2, 2)
    # From 10^-2.749 = 0.00178 to 10^-1.649 = 0.0224.
    assert [tick.label for tick in drawn.ticks] == ["0.002", "0.005", "0.01", "0.02"]
    assert drawn.dots[0].title == "a, run 1: 50.0 % at $0.0020"

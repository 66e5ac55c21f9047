"""Sentences about figures."""

import pytest

from app.db.queries.decay_counts import TrajectoryGroup, count_groups
from app.domain.metrics.decay import decay
from app.domain.problems import Comparison, OutputComparison
from app.domain.protocol.policy import Protocol, Start
from app.domain.protocol.restart import FreshStart
from app.web import wording

GENERATE, DEBUG = Protocol(), Protocol(start=Start.DEBUG)


@pytest.mark.parametrize(
    ("solved", "of", "sentence"),
    [
        ([], 0, "No attempt has been judged yet; the first points appear with the first verdicts."),
        ([5], 10, "Of the problems still unsolved, 50.0 % fall at the first answer."),
        # 2 of 5 at risk: 40 %.
        (
            [5, 2],
            10,
            "Of the problems still unsolved, 50.0 % fall at the first answer and 40 % at the one debugging attempt "
            "after it.",
        ),
        # 23/68 = 34, 16/45 = 36, 5/29 = 17, 2/24 = 8, 4/22 = 18 percent.
        (
            [96, 23, 16, 5, 2, 4],
            164,
            "Of the problems still unsolved, 58.5 % fall at the first answer and 8–36 % at each debugging attempt "
            "after it.",
        ),
    ],
)
def test_the_chart_is_summed_up_in_a_sentence(solved: list[int], of: int, sentence: str) -> None:
    assert wording.decay_sentence(decay(solved, of), GENERATE) == sentence


def test_a_run_from_buggy_programs_speaks_of_the_first_repair() -> None:
    assert "at the first repair" in wording.decay_sentence(decay([5, 2], 10), DEBUG)
    assert wording.attempt_name(DEBUG, 0) == "Attempt 0 · first repair"
    assert wording.attempt_name(DEBUG, 2) == "Attempt 2"


def test_a_run_is_told_from_its_baseline() -> None:
    assert wording.of_its_own(GENERATE) == []
    own = Protocol(fresh_start=FreshStart.parse("every:1"), temperature=0.0, top_p=0.3)
    assert wording.of_its_own(own) == ["fresh starts: after every debugging attempt", "temperature: 0.0", "top-p: 0.3"]


def test_too_few_points_says_how_many_there_are_and_how_many_are_needed() -> None:
    assert wording.no_fit(decay([5, 0, 1], 10)) == (
        "Too few points: problems were solved at 2 attempts, and a fit needs 3. "
        "E0 and the final accuracy stand without it."
    )


def test_a_flat_curve_does_not_reach_its_half_life() -> None:
    # 10 of 80, 10 of 70, 10 of 60: effectiveness rises, so the bounded fit ends at λ = 0.
    index = decay([10, 10, 10], 80)
    assert wording.no_fit(index) == "Flat: effectiveness does not fall."
    assert wording.half_life(index) == "not reached"
    assert wording.thetas(index) == "not reached"


def test_shares_solved_within_k_add_up() -> None:
    counts = count_groups(
        [
            TrajectoryGroup("solved", 0, 1, 2),
            TrajectoryGroup("solved", 1, 2, 1),
            TrajectoryGroup("exhausted", None, 2, 1),
        ],
        attempts=2,
    )
    assert [share.estimate for share in wording.within(counts)] == [0.5, 0.75]
    assert wording.within_sentence(counts) == (
        "ISR@k: of 4 problems, 50.0 % are solved within 1 attempt and 75.0 % within 2."
    )


def test_problems_cut_short_leave_the_shares_and_those_stopped_on_visible_tests_stay() -> None:
    counts = count_groups(
        [
            TrajectoryGroup("solved", 0, 1, 4),
            TrajectoryGroup("solved", 1, 2, 2),
            TrajectoryGroup("budget", None, 1, 2),
            TrajectoryGroup("visible_only", None, 1, 1),
            TrajectoryGroup("exhausted", None, 2, 1),
        ],
        attempts=2,
    )
    assert (counts.censored, counts.unfinished) == ((3, 0), (2, 0))
    # 1 − 6/10, then 1 − 2/4 of the four left: 1 − 0.6·0.5; 6 of 10 at the least, 6 of 8 without the two.
    first, second = wording.within(counts)
    assert (first.estimate, second.estimate) == (pytest.approx(0.4), pytest.approx(0.7))
    assert (second.all_failed, second.all_excluded) == (0.6, 0.75)
    assert wording.within_sentence(counts).endswith(
        "and 70.0 % within 2; 2 problems cut short or under way count as long as observed (Kaplan–Meier)."
    )


def test_excluded_and_censored_counts_are_shown_even_where_they_are_zero() -> None:
    counts = count_groups([TrajectoryGroup("solved", 0, 1, 1)], attempts=1)
    assert [note.split()[:2] for note in wording.left_out(counts)] == [["0", "excluded"], ["0", "censored"]]


def test_every_comparison_has_words() -> None:
    assert set(wording.COMPARISON) == set(Comparison)
    assert set(wording.OUTPUT_COMPARISON) == set(OutputComparison)

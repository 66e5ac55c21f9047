"""Which errors occur, and which are fixed by the next attempt."""

from dataclasses import replace

import numpy as np

from app.domain.metrics.error_fixes import (
    Changes,
    changes,
    error_rows,
    uncounted,
    with_syntax_errors_as_runtime_errors,
)
from app.domain.metrics.intervals import Resamples
from app.domain.verdicts import Verdict
from app.web.feedback_loops import ERROR_FIXES
from tests.fixtures.outcomes import SOLVED, Try, Way, outcomes_of

RUN = outcomes_of(
    [
        Way([Try("WA", 4), Try("WA", 6), SOLVED]),  # two fixes
        Way([Try("CE", 0), Try("RE", 2), Try("RE", 1)]),  # a fix, a regression, a last error
        Way([Try("WA", 4), Try("WA", 4), Try("TLE", 3)]),  # neither, a regression, a last error
    ],
    attempts=3,
)


def counts(*, count_last: bool = False, folded: bool = False) -> dict[str, tuple[int, int, int]]:
    run = with_syntax_errors_as_runtime_errors(RUN) if folded else RUN
    rows = error_rows(run, Resamples(3), count_last=count_last)
    return {
        "all" if row.verdict is None else row.verdict.value: (row.occurrences, row.fixed, row.regressed) for row in rows
    }


def test_errors_that_an_attempt_answers() -> None:
    assert counts() == {"CE": (1, 1, 0), "RE": (1, 0, 1), "WA": (4, 2, 1), "all": (6, 3, 2)}
    rates = [row.rate.estimate for row in error_rows(RUN, Resamples(3))]
    assert rates == [1.0, 0.0, 0.5, 0.5]


def test_last_errors_are_occurrences_that_nothing_fixes() -> None:
    assert counts(count_last=True) == {
        "CE": (1, 1, 0),
        "RE": (2, 0, 1),
        "WA": (4, 2, 1),
        "TLE": (1, 0, 0),
        "all": (8, 3, 2),
    }


def test_syntax_errors_are_runtime_errors_where_nothing_is_compiled_first() -> None:
    assert counts(folded=True) == {"RE": (2, 1, 1), "WA": (4, 2, 1), "all": (6, 3, 2)}


def test_cases_passed_from_one_attempt_to_the_next() -> None:
    assert changes(RUN) == Changes(up=3, same=1, down=2)
    assert changes(RUN).n == 6


def test_a_fresh_start_answers_nothing() -> None:
    run = outcomes_of([Way([Try("WA", 4), Try("WA", 6, segment=1)])], attempts=2)
    assert changes(run).n == 0
    assert [row.occurrences for row in error_rows(run, Resamples(1))] == [0]


def test_what_a_recording_does_not_count_is_unknown() -> None:
    assert (uncounted(RUN), changes(RUN).unknown) == (0, 0)
    # Of the second problem the cases of the first attempt are not counted: its CE may have been fixed or not, and the
    # RE that follows it has become worse as before. The others are as they were.
    recorded = replace(RUN, uncounted=np.array([False] * 3 + [True] + [False] * 5))
    assert uncounted(recorded) == 1
    assert changes(recorded) == Changes(up=2, same=1, down=2, unknown=1)
    rows = {row.verdict: (row.occurrences, row.fixed, row.regressed) for row in error_rows(recorded, Resamples(3))}
    assert rows == {
        Verdict.CE: (1, None, None),
        Verdict.RE: (1, 0, 1),
        Verdict.WA: (4, 2, 1),
        None: (6, None, None),
    }


def test_the_published_counts_add_up_to_the_papers_overall_row() -> None:
    sums = [
        (sum(total for total, _ in column), sum(fixed for _, fixed in column))
        for column in zip(*ERROR_FIXES.values(), strict=True)
    ]
    assert sums == [(29, 24), (572, 192), (118, 22), (8, 3)]

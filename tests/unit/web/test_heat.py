"""A large run as one drawing."""

from app.web.heat import heat


def test_problems_alike_are_one_area_and_the_solved_come_first() -> None:
    found = heat([("WA", "RE"), ("AC",), ("WA", "AC"), ("AC",), ("WA", "AC"), (), ("WA", None)], attempts=2)
    first = [(area.x, area.width, area.title) for area in found.areas if area.attempt == 0]
    # Two at once, two later, one that never began, then one that waits and one that is not solved.
    assert first == [
        (0, 2, "2 problems, attempt 0: Accepted"),
        (2, 2, "2 problems, attempt 0: Wrong answer"),
        (5, 2, "2 problems, attempt 0: Wrong answer"),
    ]
    second = [(area.x, area.width, area.tone) for area in found.areas if area.attempt == 1]
    assert second == [(2, 2, "ac"), (5, 1, "re"), (6, 1, "muted")]
    assert (found.problems, found.counts[0]["Accepted"], found.counts[1]["Waiting for a verdict"]) == (7, 2, 1)
    assert found.verdicts[0] == "Accepted"

def contest_mark(marks: list[float], dropped: int) -> float:
    """Return the mean of the marks that remain without the `dropped` lowest and the `dropped` highest.

    There are more than 2 * `dropped` marks.
    """
    ordered = sorted(marks)
    counted = ordered[dropped : len(ordered) - dropped]
    return sum(counted) / len(counted)

def crowded_minutes(visits: list[list[int]], most: int) -> int:
    """Return for how many minutes there are more than `most` visitors inside.

    A visit is [from, to] with from < to: the visitor is inside in the minutes from, from + 1, ..., to - 1. `most` is at
    least 0.
    """
    changes: dict[int, int] = {}
    for arrival, departure in visits:
        changes[arrival] = changes.get(arrival, 0) + 1
        changes[departure] = changes.get(departure, 0) - 1
    inside = 0
    since = 0
    crowded = 0
    for minute in sorted(changes):
        before = inside
        inside += changes[minute]
        if before <= most < inside:
            since = minute
        elif inside <= most:
            crowded += minute - since
    return crowded

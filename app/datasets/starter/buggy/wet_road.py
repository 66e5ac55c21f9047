import bisect


def wet_road(showers: list[list[int]]) -> list[int]:
    """Return how many metres of a road are wet after each shower; nothing dries in between.

    A shower [start, end] with start < end wets the road from metre `start` to metre `end`.
    """
    # Wet stretches that neither overlap nor touch, in order.
    starts: list[int] = []
    ends: list[int] = []
    wet = 0
    metres = []
    for start, end in showers:
        first = bisect.bisect_left(ends, start)
        beyond = bisect.bisect_right(starts, end)
        if first < beyond:
            start = min(start, starts[first])
            end = max(end, ends[beyond - 1])
        for index in range(first, beyond):
            wet -= ends.pop(index) - starts.pop(index)
        starts.insert(first, start)
        ends.insert(first, end)
        wet += end - start
        metres.append(wet)
    return metres

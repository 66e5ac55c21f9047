import math


def orchard_trees(corners: list[list[int]]) -> int:
    """Return how many trees stand inside a fence, those on the fence not counted.

    A tree stands at every point whose coordinates are both whole numbers. `corners` are the corners [x, y] of the
    fence, at least three, in the order in which it runs round, either way; it runs straight from each corner to the
    next, and from the last to the first, and touches itself nowhere else.
    """
    doubled = 0
    on_fence = 0
    x, y = corners[0]
    for next_x, next_y in corners:
        doubled += x * next_y - next_x * y
        width, height = next_x - x, next_y - y
        on_fence += max(abs(width), abs(height))
        x, y = next_x, next_y
    area = abs(doubled)
    # Pick's theorem, in halves of a square: area = 2 inside + on_fence - 2.
    inside = area - on_fence - 2
    return inside // 2

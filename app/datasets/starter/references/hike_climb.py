from itertools import pairwise


def hike_climb(heights: list[int]) -> tuple[int, int]:
    """Return all metres climbed on a hike, and those of its greatest climb.

    `heights` are the heights of the posts passed. A climb goes on as long as each post is higher than the one before.
    """
    total = greatest = climb = 0
    for lower, upper in pairwise(heights):
        if upper > lower:
            climb += upper - lower
            total += upper - lower
        else:
            greatest = max(greatest, climb)
            climb = 0
    return total, max(greatest, climb)

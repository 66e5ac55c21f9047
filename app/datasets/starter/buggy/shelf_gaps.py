from itertools import pairwise


def shelf_gaps(tags: list[int]) -> list[tuple[int, int]]:
    """Return the runs of tag numbers missing between the first and the last tag, each as (first, last).

    `tags` is strictly increasing. The runs are in increasing order.
    """
    gaps = []
    for left, right in pairwise(tags):
        if right - left > 2:
            gaps.append((left + 1, right - 1))
    return gaps

import bisect
from collections.abc import Callable


def till_discounts(rules: list[list[int]], totals: list[int]) -> list[int]:
    """Return what is to be paid for each total, in cents.

    A rule is [least, percent]: from a total of `least` on, so many percent of it are taken off, rounded down to whole
    cents. Of the rules that a total reaches, the one with the highest `least` alone applies. The rules come in any
    order, no two with the same `least`.
    """
    ordered = sorted(rules)
    limits = [least for least, _ in ordered]
    steps: list[Callable[[int], int]] = [lambda total: total]
    for _, percent in ordered:
        steps.append(lambda total, percent=percent: total - total * percent // 100)
    return [steps[bisect.bisect_right(limits, total)](total) for total in totals]

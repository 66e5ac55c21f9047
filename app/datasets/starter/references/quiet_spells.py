from collections import deque


def quiet_spells(levels: list[int], tolerance: int, days: int) -> int:
    """Return how many spells of at least `days` consecutive days are quiet.

    A spell is quiet if its highest and its lowest level differ by at most `tolerance`. Spells that overlap, or lie
    within one another, all count. `days` is at least 1.
    """
    highest: deque[int] = deque()
    lowest: deque[int] = deque()
    spells = 0
    start = 0
    for end, level in enumerate(levels):
        while highest and levels[highest[-1]] <= level:
            highest.pop()
        highest.append(end)
        while lowest and levels[lowest[-1]] >= level:
            lowest.pop()
        lowest.append(end)
        while levels[highest[0]] - levels[lowest[0]] > tolerance:
            start += 1
            if highest[0] < start:
                highest.popleft()
            if lowest[0] < start:
                lowest.popleft()
        spells += max(0, end - start + 1 - (days - 1))
    return spells

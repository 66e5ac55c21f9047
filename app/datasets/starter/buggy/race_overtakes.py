def race_overtakes(started: list[int], finished: list[int]) -> int:
    """Return how many pairs of runners finished in the opposite order to the one in which they started.

    Both lists hold the same bib numbers, each once.
    """
    place_of = {runner: place for place, runner in enumerate(finished, start=1)}
    size = len(finished)
    tree = [0] * (size + 1)
    overtakes = 0
    for counted, runner in enumerate(started):
        ahead = 0
        slot = place_of[runner]
        while slot > 0:
            ahead += tree[slot]
            slot -= slot & -slot
        overtakes += counted - ahead
        slot = place_of[runner]
        while slot < size:
            tree[slot] += 1
            slot += slot & -slot
    return overtakes

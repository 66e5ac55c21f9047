def planting_row(row: list[int], apart: int) -> int:
    """Return how many plants of a row stand fewer than `apart` places after a plant of their own kind.

    `row` gives the kind of the plant in each place.
    """
    last_place: dict[int, int] = {}
    crowded = 0
    for place, kind in enumerate(row):
        earlier = last_place.get(kind)
        if earlier is not None and place - earlier < apart:
            crowded += 1
        last_place[kind] = place
    return crowded

def storm_damage(houses: int, cables: list[list[int]], breaks: list[int]) -> list[int]:
    """Return how many houses have power after each break of a cable.

    Houses are numbered from 1, the power station is 0, and a cable [a, b] joins two of them, both ways. `breaks` are
    places (from 0) in the list of cables, each at most once, in the order in which the storm breaks them. A house has
    power if whole cables lead from it to the station.
    """
    group = list(range(houses + 1))
    size = [1] * (houses + 1)

    def leader(place: int) -> int:
        while group[place] != place:
            group[place] = group[group[place]]
            place = group[place]
        return place

    def join(cable: list[int]) -> None:
        large, small = leader(cable[0]), leader(cable[1])
        if large == small:
            return
        if size[large] < size[small]:
            large, small = small, large
        group[small] = large
        size[small] += size[large]

    broken = set(breaks)
    for number, cable in enumerate(cables):
        if number not in broken:
            join(cable)
    # Backwards a break is a cable more, and groups only grow.
    powered = []
    for number in reversed(breaks):
        powered.append(size[leader(0)] - 1)
        join(cables[number])
    return powered

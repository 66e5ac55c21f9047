def tool_library(houses: list[int], loans: list[list[int]]) -> list[list[int]]:
    """Return, for each house in the order given, the tools that are there now, in increasing order.

    A loan is [house, tool], oldest first; a tool is in the house that took it last. Houses differ from one another, and
    each loan is to one of them.
    """
    place_of: dict[int, int] = {}
    for house, tool in loans:
        place_of[tool] = house
    kept: dict[int, list[int]] = {house: [] for house in houses}
    for tool in sorted(place_of):
        kept[place_of[tool]].append(tool)
    return [kept[house] for house in houses]

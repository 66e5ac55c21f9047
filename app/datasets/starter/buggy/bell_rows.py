def bell_rows(bells: int, changes: list[list[int]], rung: int) -> list[int]:
    """Return the order of the bells after `rung` changes, having begun in the order 1, 2, ..., bells.

    A change lists places (from 0): for each place p in it, the bells in places p and p + 1 swap. No two of these pairs
    overlap. After the last change the ringers begin again with the first. There is at least one change.
    """
    whole, rest = divmod(len(changes), rung)

    def ring(order: list[int], some: list[list[int]]) -> list[int]:
        order = order.copy()
        for change in some:
            for place in change:
                order[place], order[place + 1] = order[place + 1], order[place]
        return order

    step = ring(list(range(bells)), changes)
    order = list(range(1, bells + 1))
    while whole:
        if whole % 2:
            order = [order[place] for place in step]
        step = [step[place] for place in step]
        whole //= 2
    return ring(order, changes[:rest])

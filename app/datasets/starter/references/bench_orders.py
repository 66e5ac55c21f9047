def bench_orders(guests: int, quarrels: list[list[int]]) -> int:
    """Return in how many orders the guests can sit on a bench so that no two who quarrel sit side by side.

    Guests are numbered from 0. A quarrel is a pair [a, b] of two guests.
    """
    apart = [[False] * guests for _ in range(guests)]
    for one, other in quarrels:
        apart[one][other] = apart[other][one] = True
    everybody = (1 << guests) - 1
    # orders[seated][last]: the orders of the guests in the bits of `seated` of whom `last` sits at the end.
    orders = [[0] * guests for _ in range(everybody + 1)]
    for guest in range(guests):
        orders[1 << guest][guest] = 1
    for seated in range(1, everybody + 1):
        for last in range(guests):
            ways = orders[seated][last]
            if not ways:
                continue
            for following in range(guests):
                if seated & 1 << following or apart[last][following]:
                    continue
                orders[seated | 1 << following][following] += ways
    return sum(orders[everybody])

import heapq


def voucher_trip(stops: int, rides: list[list[int]], origin: int, goal: int) -> int:
    """Return the lowest price of a trip from `origin` to `goal`, of which one ride may be free; -1 if there is none.

    Stops are numbered from 0 to stops - 1. A ride is [from, to, price] and goes one way; prices are not negative.
    """
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(stops)]
    for departure, arrival, price in rides:
        leaving[departure].append((arrival, price))
    queue = [(0, origin, 0)]
    settled = set()
    while queue:
        paid, stop, used = heapq.heappop(queue)
        if stop == goal:
            return paid
        if (stop, used) in settled:
            continue
        settled.add((stop, used))
        for arrival, price in leaving[stop]:
            heapq.heappush(queue, (paid + price, arrival, used))
            if not used:
                heapq.heappush(queue, (paid, arrival, 1))
    return -1

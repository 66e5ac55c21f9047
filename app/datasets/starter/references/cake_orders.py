import heapq


def cake_orders(orders: list[list[int]]) -> int:
    """Return the largest number of cakes that one oven can have ready in time.

    An order is [minutes, due]: the cake is in the oven, alone, for so many minutes without a break, and must be out by
    minute `due`. Baking begins at minute 0, in any order, and an order may be declined.
    """
    longest: list[int] = []
    busy = 0
    for minutes, due in sorted(orders, key=lambda order: order[1]):
        heapq.heappush(longest, -minutes)
        busy += minutes
        if busy > due:
            busy += heapq.heappop(longest)
    return len(longest)

import heapq


def parcel_lockers(lockers: int, events: list[int]) -> list[int]:
    """Return the locker of each parcel that arrives, in the order of arrival; -1 for one that is sent back.

    Lockers are numbered from 1. The event n > 0 is the arrival of parcel n, which is put into the free locker of the
    lowest number and sent back if none is free. The event -n is somebody asking for parcel n, which empties its locker;
    a parcel that was sent back or already fetched is not there, and nothing happens. Each parcel arrives once.
    """
    free = list(range(1, lockers + 1))
    locker_of: dict[int, int] = {}
    used = []
    for event in events:
        if event > 0:
            if free:
                locker_of[event] = heapq.heappop(free)
            used.append(locker_of.get(event, -1))
        else:
            emptied = locker_of.pop(-event, None)
            if emptied is not None:
                heapq.heappush(free, emptied)
    return used

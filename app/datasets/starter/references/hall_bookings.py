import bisect


def hall_bookings(bookings: list[list[int]], cleaning: int) -> int:
    """Return the largest total fee of bookings that can all be accepted.

    A booking is [start, end, fee] with start < end. After each accepted booking the hall is cleaned for `cleaning`
    minutes, and the next one may start in the very minute in which cleaning is done.
    """
    ordered = sorted(bookings, key=lambda booking: booking[1])
    ends = [booking[1] for booking in ordered]
    best = [0]
    for index, (start, _end, fee) in enumerate(ordered):
        earlier = bisect.bisect_right(ends, start - cleaning, 0, index)
        best.append(max(best[-1], best[earlier] + fee))
    return best[-1]

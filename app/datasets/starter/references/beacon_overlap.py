def beacon_overlap(first_period: int, second_period: int, seconds: int) -> int:
    """Return in how many of the seconds 0, 1, ..., seconds - 1 both beacons flash.

    A beacon of period p flashes in the seconds 0, p, 2p, ... Periods are at least 1.
    """
    divisor, rest = first_period, second_period
    while rest:
        divisor, rest = rest, divisor % rest
    together = first_period * second_period // divisor
    return (seconds + together - 1) // together

def carousel_seat(next_seat: list[int], start: int, songs: int) -> int:
    """Return the seat a rider is in after `songs` songs, having begun in seat `start`.

    After each song the rider in seat s moves to seat next_seat[s].
    """
    first_visit: dict[int, int] = {}
    order: list[int] = []
    seat = start
    while seat not in first_visit:
        first_visit[seat] = len(order)
        order.append(seat)
        seat = next_seat[seat]
    lead_in = first_visit[seat]
    lap = len(order) - lead_in
    if songs < lead_in:
        return order[songs]
    return order[lead_in + songs % lap]

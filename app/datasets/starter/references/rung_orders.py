def rung_orders(height: int, strides: list[int], broken: list[int]) -> int:
    """Return in how many ways the keeper can climb from the ground (rung 0) to exactly rung `height`.

    Each step goes up by one of the (distinct, positive) `strides`; rungs in `broken` must not be stepped on.
    Two climbs differ if they step on different rungs.
    """
    unsafe = set(broken)
    ways = [0] * (height + 1)
    ways[0] = 1
    for rung in range(1, height + 1):
        if rung in unsafe:
            continue
        for stride in strides:
            if stride <= rung:
                ways[rung] += ways[rung - stride]
    return ways[height]

def square_tents(pegs: list[list[int]]) -> int:
    """Return in how many ways four of the pegs can be the corners of a square, in any direction.

    A peg is [x, y], and no two are in the same place.
    """
    standing = {(x, y) for x, y in pegs}
    corners = 0
    for x, y in standing:
        for along, up in standing:
            # The side from (x, y), and the same turned by a right angle to the left.
            right, rise = along - x, up - y
            if not (right or rise):
                continue
            if (x - rise, y + right) in standing and (along - rise, up + right) in standing:
                corners += 1
    return corners // 4

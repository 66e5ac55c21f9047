from itertools import pairwise


def stair_light(presses: list[int], lit: int) -> int:
    """Return for how many seconds the light of a staircase is on.

    `presses` are the seconds in which the button is pressed, in increasing order; some may be equal. After a press the
    light is on for `lit` seconds, and pressing while it is on starts these anew.
    """
    if not presses:
        return 0
    seconds = lit
    for min, following in pairwise(presses):
        seconds += min(following - min, lit)
    return seconds

def necklace_start(beads: list[int]) -> int:
    """Return the place (from 0) at which to open a necklace so that its beads, from there on round, read lowest.

    Of two readings the lower one has the lower bead in the first place in which they differ. If several places give the
    same reading, return the first of them. There is at least one bead.
    """
    count = len(beads)
    first, second, same = 0, 1, 0
    while first < count and second < count and same < count:
        left = beads[(first + same) % count]
        right = beads[(second + same) % count]
        if left == right:
            same += 1
            continue
        # Whichever reads higher loses, and with it every start within the part that was the same.
        if left > right:
            first += same + 1
        else:
            second += same + 1
        if first == second:
            second += 1
        same = 0
    return min(first, second)

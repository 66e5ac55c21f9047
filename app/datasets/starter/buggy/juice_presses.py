def juice_presses(minutes: list[int], warm_up: list[int], bottles: int) -> int:
    """Return after how many minutes the presses have filled at least `bottles` bottles together.

    Press i takes warm_up[i] minutes before it starts, and then fills one bottle every minutes[i] minutes. All presses
    are switched on together. There is at least one press.
    """
    low = 0
    high = min(ready + each * bottles for ready, each in zip(warm_up, minutes, strict=True))
    while low < high:
        middle = (low + high) // 2
        filled = 0
        for ready, each in zip(warm_up, minutes, strict=True):
            if middle > ready:
                filled += (middle - ready) // each
        if filled >= bottles:
            high = middle - 1
        else:
            low = middle + 1
    return low

def wristband_pairs(numbers: list[int], group: int) -> int:
    """Return how many pairs of guests (each pair once) have wristband numbers whose sum is a multiple of `group`.

    Numbers may repeat and may be negative. `group` is at least 1.
    """
    seen = [1] + [0] * (group - 1)
    pairs = 0
    for number in numbers:
        remainder = number % group
        pairs += seen[-remainder % group]
        seen[remainder] += 1
    return pairs

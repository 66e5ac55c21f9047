from functools import cache


def flat_pack(kits: list[list[list[int]]], wanted: int) -> int:
    """Return how many single parts are in the kit of number `wanted`.

    Kit i is a list of [number, count]: so many times the kit of that number, which is lower than i. A kit with an empty
    list is a single part.
    """

    @cache
    def parts(kit: int) -> int:
        if not kits[kit]:
            return 1
        total = 0
        for smaller, count in kits[kit]:
            total += count * parts(kit)
        return total

    return parts(wanted)

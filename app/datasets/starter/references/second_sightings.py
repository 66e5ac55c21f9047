def second_sightings(rings: list[int]) -> list[int]:
    """Return the ring numbers that were seen at least twice, in the order of their second sighting.

    Each such number appears once in the result.
    """
    once: set[int] = set()
    twice: set[int] = set()
    sightings = []
    for ring in rings:
        if ring in once and ring not in twice:
            sightings.append(ring)
            twice.add(ring)
        once.add(ring)
    return sightings

def smooth_readings(readings: list[float], weight: float) -> list[float]:
    """Return the smoothed readings, one for each reading.

    The first smoothed value is the first reading. Every later one is `weight` times its reading plus
    (1 - `weight`) times the smoothed value before it. 0 < weight <= 1.
    """
    level = readings[0] if readings else 0.0
    smoothed = []
    for reading in readings:
        level = weight * reading + (1 - weight) * level
        smoothed.append(level)
    return smoothed

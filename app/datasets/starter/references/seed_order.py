def seed_order(order: str) -> dict[str, int]:
    """Return how many packets of each plant an order asks for.

    A letter is one packet. A number before a letter or before a group in brackets multiplies it, and groups nest.
    The order is well formed.
    """
    groups: list[dict[str, int]] = [{}]
    factors = []
    number = 0
    for symbol in order:
        if symbol.isdigit():
            number = 10 * number + int(symbol)
        elif symbol == "(":
            factors.append(number or 1)
            groups.append({})
            number = 0
        elif symbol == ")":
            inner = groups.pop()
            factor = factors.pop()
            for plant, packets in inner.items():
                groups[-1][plant] = groups[-1].get(plant, 0) + factor * packets
        else:
            groups[-1][symbol] = groups[-1].get(symbol, 0) + (number or 1)
            number = 0
    return groups[0]

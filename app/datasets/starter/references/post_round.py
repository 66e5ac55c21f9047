def post_round(letters: list[int]) -> list[int]:
    """Return the house numbers in the order in which the postman calls: up the odd side, and back down the even side.

    `letters` holds the house number of each letter. He calls at each of these houses once.
    """
    up = []
    down = []
    for house in sorted(set(letters)):
        if house % 2 == 0:
            down.append(house)
        else:
            up.append(house)
    return up + down[::-1]

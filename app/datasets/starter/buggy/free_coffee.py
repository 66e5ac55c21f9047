def free_coffee(customers: list[int], stamps: int) -> list[int]:
    """Return the places (from 0) of the free coffees in a day's list of customers.

    A coffee that is paid for puts a stamp on the customer's card. Once it has `stamps` stamps (at least 1), the
    customer's next coffee is free: it takes the card away, gives no stamp, and a new card begins.
    """
    card: dict[int, int] = {}
    free = []
    for place, customer in enumerate(customers):
        if card.get(customer, 0) < stamps:
            card[customer] = card.get(customer, 0) + 1
        else:
            free.append(position)
            card[customer] = 0
    return free

def phone_tree(caller: list[int]) -> int:
    """Return the fewest minutes in which a message reaches every member of a choir.

    Member 0 knows it first. Member i > 0 is called by member caller[i], which is lower than i; caller[0] is -1. A call
    takes a minute. Whoever knows the message makes one call at a time, in the order that is best for all.
    """
    calls: list[list[int]] = [[] for _ in caller]
    for member in range(1, len(caller)):
        calls[caller[member]].append(member)
    minutes = [0] * len(caller)
    # Those that a member calls have higher numbers, so that their minutes are known.
    for member in reversed(range(len(caller))):
        below = sorted(minutes[called] for called in calls[member])
        for place, needed in enumerate(below, start=1):
            minutes[member] = max(minutes[member], place + needed)
    return minutes[0]

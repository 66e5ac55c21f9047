from collections import Counter


def porch_sign(text: str, box: str) -> str:
    """Return the letters of `text`, in its order, for which no letter is left in the box.

    Each letter in the box can be used once, by the first that needs it. Blanks need no letter.
    """
    left = Counter(box)
    missing = []
    for letter in text:
        if letter == " ":
            continue
        if letter in left:
            left[letter] -= 1
        else:
            missing.append(letter)
    return "".join(missing)

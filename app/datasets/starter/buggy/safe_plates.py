from collections import deque


def safe_plates(letters: str, length: int, banned: list[str]) -> int:
    """Return how many texts of `length` letters contain none of the banned words anywhere.

    `letters` are the letters to choose from, each once. The words are made of these letters and are not empty.
    """
    # Trie of the banned words: a state is how far into words the end of a text reaches.
    following: list[dict[str, int]] = [{}]
    unsafe = [False]
    for word in banned:
        state = 0
        for letter in word:
            if letter not in following[state]:
                following[state][letter] = len(following)
                following.append({})
                unsafe.append(False)
            state = following[state][letter]
        unsafe[state] = True
    shorter = [0] * len(following)
    waiting = deque([0])
    while waiting:
        state = waiting.popleft()
        for letter in letters:
            beyond = following[shorter[state]].get(letter, 0) if state else 0
            if letter in following[state]:
                shorter[following[state][letter]] = beyond
                waiting.append(following[state][letter])
            else:
                following[state][letter] = beyond
    texts = {0: 1}
    for _ in range(length):
        longer: dict[int, int] = {}
        for state, ways in texts.items():
            for letter in letters:
                beyond = following[state][letter]
                if not unsafe[beyond]:
                    longer[beyond] = longer.get(beyond, 0) + ways
        texts = longer
    return sum(texts.values())

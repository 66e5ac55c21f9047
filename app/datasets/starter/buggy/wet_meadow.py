from collections import deque


def wet_meadow(heights: list[list[int]], row: int, column: int) -> int:
    """Return how many squares of a meadow get wet from a spring in the square (row, column), that square included.

    Water runs from a wet square to each of the four squares beside it that is not higher. All rows are equally long.
    """
    rows, columns = len(heights), len(heights[0])
    wet = [[False] * columns] * rows
    wet[row][column] = True
    waiting = deque([(row, column)])
    count = 0
    while waiting:
        y, x = waiting.popleft()
        count += 1
        for down, right in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if not (0 <= down < rows and 0 <= right < columns):
                continue
            if not wet[down][right] and heights[down][right] < heights[y][x]:
                wet[down][right] = True
                waiting.append((down, right))
    return count

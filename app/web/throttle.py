"""How often one address may ask, counted in this process."""

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field

_MOST_ADDRESSES = 10_000


class Throttle:
    """At most `most` requests of an address within `seconds`; what is refused does not count."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._asked: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, address: str) -> float:
        """Count a request and return 0, or return how many seconds to wait before the next."""
        now = time.monotonic()
        with self._lock:
            times = self._asked.setdefault(address, deque())
            self._asked.move_to_end(address)
            while times and times[0] <= now - self._seconds:
                times.popleft()
            if len(times) >= self._most:
                return times[0] + self._seconds - now
            times.append(now)
            if len(self._asked) > _MOST_ADDRESSES:
                self._asked.popitem(last=False)
            return 0.0


def _opened() -> Throttle:
    return Throttle(most=240, seconds=60)


def _guessed() -> Throttle:
    return Throttle(most=20, seconds=60)


@dataclass(frozen=True, slots=True)
class Openings:
    """How often an address may open shared links, and how often try tokens that open nothing."""

    opened: Throttle = field(default_factory=_opened)
    guessed: Throttle = field(default_factory=_guessed)

"""Who holds which slot, and who comes next."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

POLL_SECONDS = 0.05
"""How often whoever waits looks whether they still should."""

Slot = TypeVar("Slot")


class Turns(Generic[Slot]):
    """Hands out slots in the order they were asked for, one or all of them.

    Only the first in line takes anything, and takes all it needs at once: whoever wants every slot is neither starved
    by those who want one nor deadlocked by another of its kind.
    """

    def __init__(self, slots: list[Slot], ready: Callable[[Slot], bool]) -> None:
        """`ready` says of a free slot whether it can be used at once; the others are handed out last."""
        self._all = len(slots)
        self._free = slots.copy()
        self._ready = ready
        self._line: deque[object] = deque()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, *, alone: bool, check: Callable[[], None]) -> Iterator[Slot]:
        """Hold a slot, or `alone` every slot and use this one. `check` is polled, and what it raises ends the wait."""
        taken = self._take(self._all if alone else 1, check)
        try:
            yield taken[-1]
        finally:
            with self._changed:
                self._free += taken
                # The one used last is the warmest.
                self._free.sort(key=self._ready)
                self._changed.notify_all()

    def _take(self, wanted: int, check: Callable[[], None]) -> list[Slot]:
        ticket = object()
        with self._changed:
            self._line.append(ticket)
        try:
            while True:
                check()
                with self._changed:
                    if self._changed.wait_for(
                        lambda: self._line[0] is ticket and len(self._free) >= wanted, POLL_SECONDS
                    ):
                        taken = self._free[-wanted:]
                        del self._free[-wanted:]
                        return taken
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()

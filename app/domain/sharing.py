"""What a share link shows, and when it no longer does."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.errors import InputError
from app.domain.protocol.policy import Disclosure


class Shown(StrEnum):
    """Texts of a run that its link shows only where its owner chose so. Keys are in no text."""

    PROMPTS = "prompts"
    REPLIES = "replies"
    PROGRAMS = "programs"
    HIDDEN_TESTS = "hidden_tests"
    """What a hidden case asked and expected, where a program failed it."""


class LinkState(StrEnum):
    """Whether a link opens."""

    OPEN = "open"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a link shows: one run with the texts in `shown`, or a leaderboard by its query (`board`)."""

    run_id: int | None = None
    shown: tuple[Shown, ...] = ()
    board: str | None = None

    def __post_init__(self) -> None:
        if (self.run_id is None) == (self.board is None):
            raise InputError("a link shows either one run or one leaderboard")
        if self.shown and self.run_id is None:
            raise InputError("a leaderboard holds no prompts, replies, programs or tests")

    def check_disclosure(self, disclosure: Disclosure) -> None:
        """Raise InputError where the texts would carry hidden tests although these are not chosen.

        Under `all`, feedback quotes hidden cases: they stand in the prompts, and models repeat them.
        """
        if disclosure is Disclosure.ALL and self.shown and Shown.HIDDEN_TESTS not in self.shown:
            raise InputError(
                "this run told the model its first failing case of all, so its texts quote hidden tests:"
                " share the hidden tests as well, or no texts"
            )


def link_state(expires_at: datetime | None, revoked_at: datetime | None, now: datetime) -> LinkState:
    """Whether a link opens at `now`."""
    if revoked_at is not None:
        return LinkState.REVOKED
    return LinkState.EXPIRED if expires_at is not None and expires_at <= now else LinkState.OPEN

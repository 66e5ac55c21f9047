"""Every error that Halflife raises on purpose.

HalflifeError
├── InputError             what a person gave us is wrong; the message says what and where
│   └── FormatError        a file cannot be read as the format it was said to be
├── NotFoundError          the thing named does not exist
├── ConflictError          the request contradicts what is stored
├── LeaseLost              another worker took this step over; nothing may be written any more
├── InfrastructureError    our side or a third party failed; never counted as a wrong answer
│   ├── StorageError       the database is locked, full or unreachable; nothing was written
│   ├── SandboxError       one execution could not be carried out; try again
│   │   └── SandboxUnavailable   no working sandbox on this machine; the message says how to get one
│   └── ModelError         a model could not be asked
│       ├── ModelUnavailable     passing: unreachable, overloaded, rate-limited; try again later
│       └── ModelRejected        lasting: wrong key, unknown model, not an API; trying again is no use
"""


class HalflifeError(Exception):
    """Root of the tree drawn above."""


class InputError(HalflifeError):
    """What a person gave us is wrong. The message names the field or the line."""


class FormatError(InputError):
    """A file is not what its format asks for.

    `line` is 1-based; None where the fault belongs to no single line.
    """

    def __init__(self, reason: str, *, line: int | None = None) -> None:
        super().__init__(f"line {line}: {reason}" if line is not None else reason)
        self.reason = reason
        self.line = line


class NotFoundError(HalflifeError):
    """The thing named does not exist."""


class ConflictError(HalflifeError):
    """The request contradicts what is stored, for example a name that is taken."""


class LeaseLost(HalflifeError):
    """The step was taken back (its lease ran out) and another worker may hold it."""


class InfrastructureError(HalflifeError):
    """Something other than the candidate failed."""


class StorageError(InfrastructureError):
    """The database could not be used. The transaction was rolled back."""


class SandboxError(InfrastructureError):
    """An execution could not be carried out; it says nothing about the program."""


class SandboxUnavailable(SandboxError):
    """No sandbox works here. The message says what was tried and what to install."""


class ModelError(InfrastructureError):
    """A model could not be asked, or did not answer in the protocol."""


class ModelUnavailable(ModelError):
    """A passing failure. `retry_after` (seconds) is what the server asked for, if it did.

    `billed` is False only where the request certainly never ran (connection refused, 429).
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, billed: bool = True) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.billed = billed


class ModelRejected(ModelError):
    """A lasting failure: the run is paused with this message until a person acts.

    `this_request_only`: the endpoint works, and this request alone is refused (too long, filtered).
    """

    def __init__(self, reason: str, *, this_request_only: bool = False) -> None:
        super().__init__(reason)
        self.this_request_only = this_request_only

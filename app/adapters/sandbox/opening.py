"""Choosing the sandbox of this machine."""

from app.adapters.sandbox.bare import BareSandbox
from app.adapters.sandbox.bubblewrap import BubblewrapSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.probe import explain_refusal, self_check
from app.domain.errors import SandboxError, SandboxUnavailable


def open_sandbox(slots: int, allow_unsandboxed: bool = False) -> RunnerPool:
    """A sandbox that has just run a program: bubblewrap, or none at all where that fails and it is explicitly allowed.

    Raises SandboxUnavailable with what was tried and what to install.
    """
    try:
        return _checked(BubblewrapSandbox(slots))
    except SandboxError as error:
        reason = str(error)
        if not isinstance(error, SandboxUnavailable):
            reason = f"bubblewrap does not work here: {explain_refusal(reason)}"
        if not allow_unsandboxed:
            raise SandboxUnavailable(reason) from error
    return _checked(BareSandbox(slots))


def _checked(sandbox: RunnerPool) -> RunnerPool:
    try:
        self_check(sandbox)
    except BaseException:
        sandbox.close()
        raise
    return sandbox

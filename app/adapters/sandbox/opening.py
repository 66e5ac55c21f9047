"""Choosing the sandbox of this machine."""

from app.adapters.sandbox.bare import BareSandbox
from app.adapters.sandbox.bubblewrap import BubblewrapSandbox
from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.probe import explain_refusal, self_check
from app.domain.errors import SandboxError, SandboxUnavailable


def open_sandbox(slots: int, *, unsandboxed: bool = False) -> RunnerPool:
    """A sandbox that has just run a program: bubblewrap or, where that is asked for explicitly, none at all.

    Raises SandboxUnavailable with what was tried and what to install.
    """
    if unsandboxed:
        return _checked(BareSandbox(slots))
    try:
        return _checked(BubblewrapSandbox(slots))
    except SandboxUnavailable:
        raise
    except SandboxError as error:
        raise SandboxUnavailable(f"bubblewrap does not work here: {explain_refusal(str(error))}") from error


def _checked(sandbox: RunnerPool) -> RunnerPool:
    try:
        self_check(sandbox)
    except BaseException:
        sandbox.close()
        raise
    return sandbox

"""The same runner without namespaces: rlimits only. For machines where nothing else works, by explicit setting.

It keeps time, memory and output limits, but a program can read what this user can read and reach the network.
"""

import tempfile
from pathlib import Path

from app.adapters.sandbox.launch import ENVIRONMENT, RUNNER_FILES, Launcher, lend_into, runner_command
from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.runner.program import LENT_VARIABLE


class BareSandbox(RunnerPool):
    """Runs programs as plain processes of this user. Its outcomes say sandbox "none"."""

    def __init__(self, slots: int = 1, *, recycle_after: int = 1000) -> None:
        self._lent = tempfile.TemporaryDirectory(prefix="halflife-lent-")
        lend_into(Path(self._lent.name))
        environment = {**ENVIRONMENT, LENT_VARIABLE: self._lent.name}
        launchers = [Launcher(_command, environment) for _ in range(slots)]
        super().__init__(launchers, name="none", cgroups=None, recycle_after=recycle_after)

    def close(self) -> None:
        """See RunnerPool."""
        super().close()
        self._lent.cleanup()


def _command(channel: int) -> list[str]:
    return runner_command(RUNNER_FILES / "__main__.py", channel, "bare")

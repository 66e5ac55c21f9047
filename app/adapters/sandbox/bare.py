"""The same runner without namespaces: rlimits only. For machines where nothing else works, by explicit setting.

It keeps time, memory and output limits, but a program can read what this user can read and reach the network.
"""

from app.adapters.sandbox.launch import ENVIRONMENT, RUNNER_FILES, Launcher, runner_command, test_packages
from app.adapters.sandbox.pool import RunnerPool
from app.adapters.sandbox.runner.program import TEST_PACKAGES_VARIABLE


class BareSandbox(RunnerPool):
    """Runs programs as plain processes of this user. Its outcomes say sandbox "none"."""

    def __init__(self, slots: int = 1, *, recycle_after: int = 1000) -> None:
        environment = {**ENVIRONMENT, TEST_PACKAGES_VARIABLE: str(test_packages()[0].parent)}
        launchers = [Launcher(_command, environment) for _ in range(slots)]
        super().__init__(launchers, name="none", cgroups=None, recycle_after=recycle_after)


def _command(channel: int) -> list[str]:
    return runner_command(RUNNER_FILES / "__main__.py", channel, "bare")

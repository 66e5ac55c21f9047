"""`halflife doctor`: what works here, what does not, and what to do about it."""

import platform
import sys
from dataclasses import asdict

import typer

from app.adapters.sandbox.opening import inspect_sandbox
from app.adapters.sandbox.probe import Check
from app.cli.installation import JsonFlag, emit, installation
from app.config import SandboxChoice
from app.domain.errors import HalflifeError


def doctor(as_json: JsonFlag = False) -> None:
    """Check Python, the data folder, the database, the queue and the sandbox."""
    checks = [_python()]
    try:
        with installation() as opened:
            settings = opened.settings
            checks.append(Check("data", True, str(settings.home)))
            checks.append(Check("database", True, opened.db.engine.url.render_as_string()))
            trouble = opened.queue.reachable()
            checks.append(Check("queue", trouble is None, trouble or opened.queue.address))
            checks += inspect_sandbox(settings)
            if settings.sandbox is SandboxChoice.UNSANDBOXED:
                checks.append(Check("setting", False, "HALFLIFE_SANDBOX=unsandboxed: programs run without isolation"))
    except HalflifeError as error:
        checks.append(Check("installation", False, str(error)))
    healthy = all(check.ok for check in checks)
    width = max(len(check.name) for check in checks)
    text = "\n".join(f"{'ok  ' if c.ok else 'FAIL'}  {c.name:<{width}}  {c.detail}" for c in checks)
    emit({"ok": healthy, "checks": [asdict(check) for check in checks]}, as_json, text)
    if not healthy:
        raise typer.Exit(1)


def _python() -> Check:
    return Check("python", sys.version_info >= (3, 11), platform.python_version())

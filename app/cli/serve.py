"""`halflife serve`: web and workers as one supervised group on this machine."""

import http.client
import os
import socket
import sys
from collections.abc import Mapping

from app.adapters.processes import Child, Group
from app.cli.installation import Installation, installation, note, sandbox_of
from app.config import Settings
from app.domain.errors import InputError
from app.domain.work import WorkerKind
from app.services.manage_endpoints import ensure_repair_search
from app.services.offer_starter import offer_starter

START_SECONDS = 60.0


def serve() -> None:
    """Start web pages and workers, print the address, and end all of them on Ctrl-C."""
    with installation() as opened:
        settings = opened.settings
        _check_address(settings)
        prepare(opened)
    children = [_web(settings), *worker_children(settings)]
    with Group(children, settings.home / "logs") as group:
        group.wait_ready(START_SECONDS)
        if not group.asked_to_stop:
            note(f"Halflife is at http://{_shown_host(settings)}:{settings.port}  (Ctrl-C ends it)")
        group.watch()
    note("ended")


def prepare(opened: Installation) -> None:
    """Offer what every installation has: the baseline model and the starter problems, tried in the sandbox first."""
    ensure_repair_search(opened.db, opened.vault)
    offer_starter(opened.db, lambda: sandbox_of(opened.settings), opened.settings.execute_slots)


def worker_children(settings: Settings) -> list[Child]:
    """Both workers of one machine."""
    return [
        Child(kind.value, [sys.executable, "-m", "workers", kind.value], child_environment(settings))
        for kind in WorkerKind
    ]


def child_environment(settings: Settings) -> Mapping[str, str]:
    """The environment of a child: ours, and the settings in force."""
    return {**os.environ, **settings.environment(), "PYTHONUNBUFFERED": "1"}


def _web(settings: Settings) -> Child:
    argv = [sys.executable, "-m", "uvicorn", "app.main:create_app", "--factory", "--no-server-header"]
    argv += ["--host", settings.host, "--port", str(settings.port), "--log-level", "warning"]
    return Child("web", argv, child_environment(settings), ready=lambda: _answers(settings))


def _answers(settings: Settings) -> bool:
    connection = http.client.HTTPConnection(settings.host, settings.port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _check_address(settings: Settings) -> None:
    """Refuse an address that is taken."""
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise InputError(
                f"HALFLIFE_PORT: {settings.host}:{settings.port} cannot be used ({error.strerror}); is Halflife"
                " running already? Set HALFLIFE_PORT to another port otherwise"
            ) from error


def _shown_host(settings: Settings) -> str:
    return f"[{settings.host}]" if ":" in settings.host else settings.host

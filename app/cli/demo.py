"""`halflife demo …`."""

import typer

from app.cli.installation import JsonFlag, emit, installation
from app.domain.work import WorkerKind
from app.services.demo_data import load_demo, remove_demo

app = typer.Typer(help="Demo data: recorded runs to look around in.", no_args_is_help=True)


@app.command("load")
def load(as_json: JsonFlag = False) -> None:
    """Load the recorded runs on the starter problems that come with Halflife. They are marked as demo data."""
    with installation() as opened:
        runs = load_demo(opened.db)
        opened.queue.wake(WorkerKind.EXECUTE, opened.settings.execute_slots)
    emit({"runs": list(runs)}, as_json, f"{len(runs)} runs loaded; `halflife demo remove` removes them")


@app.command("remove")
def remove(as_json: JsonFlag = False) -> None:
    """Remove all runs that are demo data, and nothing else."""
    with installation() as opened:
        count = remove_demo(opened.db)
    emit({"removed": count}, as_json, f"{count} runs removed")

"""The `halflife` command. Every subcommand prints plain text, or one JSON document with `--json`.

Exit codes: 0 done · 1 something of ours or of a third party failed · 2 the request is wrong · 3 a run ended
otherwise than completed.
"""

import io
import sys

import typer

from app.cli import (
    demo,
    doctor,
    exports,
    judge,
    metrics,
    models,
    problems,
    recordings,
    runs,
    score,
    serve,
    setting_up,
    share,
    tokens,
)
from app.domain.errors import HalflifeError, InfrastructureError

app = typer.Typer(
    name="halflife",
    help="Measure how well code models debug.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("migrate")(setting_up.migrate)
app.command("prepare")(setting_up.prepare)
app.command("doctor")(doctor.doctor)
app.command("judge")(judge.judge)
app.command("score")(score.score)
app.add_typer(problems.app, name="problems")
app.add_typer(models.app, name="models")
runs.app.command("export")(exports.export)
app.add_typer(runs.app, name="runs")
app.add_typer(recordings.app, name="recordings")
app.add_typer(demo.app, name="demo")
app.add_typer(metrics.app, name="metrics")
app.add_typer(share.app, name="share")
app.add_typer(tokens.app, name="tokens")


def main() -> None:
    """Run the command; an error of ours is one line on stderr, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Keys and names may hold characters that the terminal's encoding lacks. stderr escapes them by itself.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except HalflifeError as error:
        sys.stderr.write(f"halflife: {error}\n")
        sys.exit(1 if isinstance(error, InfrastructureError) else 2)

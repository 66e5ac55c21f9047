"""`halflife metrics …`: figures of counts and of stored runs."""

from typing import Annotated

import typer

from app.cli.installation import JsonFlag, emit, installation
from app.db.base import LARGEST_ID
from app.db.queries.decay_counts import decay_counts
from app.db.queries.outcomes import run_outcomes
from app.domain.errors import InputError
from app.web import comparison
from app.web.fits import fits_document, fits_of_text, text_lines
from app.web.measures import left_out, measures_document, measures_text
from app.web.text import printable

app = typer.Typer(help="Figures of counts and of runs.", no_args_is_help=True)


@app.command("decay")
def decay(
    solved: Annotated[str, typer.Option(help="Problems solved for the first time at t = 0, 1, …: 84,17,4,1,3,0.")],
    of: Annotated[int, typer.Option(help="Problems in all.")],
    censored: Annotated[str, typer.Option(help="Problems that left unsolved after each attempt: 0,2,1.")] = "",
    theta: Annotated[str, typer.Option(help="Percentages to lose: 50,80. The usual five when left out.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """The decay of some counts: the published index, and the careful fits beside it. No installation is needed."""
    found = fits_of_text(solved, of, censored, theta)
    emit(fits_document(found), as_json, "\n".join(text_lines(found)))


@app.command("run")
def run(
    run_id: Annotated[int, typer.Argument(metavar="RUN", min=1, max=LARGEST_ID)],
    seed: Annotated[int, typer.Option(help="Of the resamples.", min=0)] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Every figure of a run with its interval: shares, medians, fix rates, regressions, efficiency."""
    with installation() as opened, opened.db.read() as session:
        outcomes, counts = run_outcomes(session, run_id), decay_counts(session, run_id)
    document = measures_document(outcomes, left_out(counts), seed)
    emit(document, as_json, measures_text(document))


@app.command("compare")
def compare(
    run_ids: Annotated[list[int], typer.Argument(metavar="RUN RUN…", min=1, max=LARGEST_ID)], as_json: JsonFlag = False
) -> None:
    """Two to ten runs on the same problems, paired: differences with intervals, McNemar's test, tie groups."""
    with installation() as opened:
        found = comparison.compare(opened.db, run_ids)
    if found.unpaired is not None:
        raise InputError(found.unpaired)
    emit(comparison.document(found), as_json, printable(comparison.text(found)))

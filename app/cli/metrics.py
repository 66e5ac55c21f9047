"""`halflife metrics …`: figures of counts and of stored runs."""

from typing import Annotated

import typer

from app.cli.installation import JsonFlag, emit
from app.web.fits import fits_document, fits_of_text, text_lines

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

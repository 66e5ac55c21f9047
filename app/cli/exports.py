"""`halflife runs export`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.cli.installation import installation, note
from app.cli.runs import RunId
from app.domain.errors import InputError
from app.web.exports import EXPORTS, ExportFormat


def export(
    run_id: RunId,
    format_: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.CSV,
    output: Annotated[Path | None, typer.Option(help="A file to write; standard output when left out.")] = None,
) -> None:
    """Write a run as a file: every attempt as CSV, JSON, Parquet or a recording (JSONL), its chart, or BibTeX."""
    chosen = EXPORTS[format_]
    with installation() as opened:
        parts = chosen.parts(opened.db, run_id)
        if output is None:
            for part in parts:
                sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
            return
        try:
            with output.open("wb") as file:
                file.writelines(parts)
        except OSError as error:
            raise InputError(f"{output}: {error.strerror}") from error
    note(f"{output} written")

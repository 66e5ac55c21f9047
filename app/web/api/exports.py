"""Runs as files."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from app.web.deps import RowId, State
from app.web.exports import EXPORTS, ExportFormat

router = APIRouter(prefix="/api/runs/{run_id}/export", tags=["exports"])


@router.get("/{format_}", response_class=StreamingResponse)
def export_run(state: State, run_id: RowId, format_: ExportFormat) -> StreamingResponse:
    """A run as a file, streamed whole: `csv` (a row an attempt; docs/exports.md says what each column holds), `json`
    (protocol, versions, figures, and every attempt with its texts), `parquet` (both, typed; needs pyarrow), `svg` and
    `png` (the decay chart), `bibtex`.
    """
    chosen = EXPORTS[format_]
    return StreamingResponse(
        chosen.parts(state.db, run_id),
        media_type=chosen.media_type,
        headers={"Content-Disposition": f'attachment; filename="run-{run_id}.{chosen.suffix}"'},
    )

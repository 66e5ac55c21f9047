"""`halflife recordings …`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.chosen import problem_set_id
from app.cli.installation import Installation, JsonFlag, emit, installation, note, sandbox_of
from app.cli.runs import RunId
from app.datasets.archive import MAX_ENTRIES
from app.datasets.payload import MAX_BYTES
from app.db.queries.recordings import disagreements
from app.domain.errors import FormatError, InputError
from app.domain.protocol.policy import MAX_ATTEMPTS
from app.recordings.recording import Files
from app.recordings.registry import FORMATS, Format, opened, recording_format
from app.services.import_recording import RecordingReport, RecordingRequest, import_recording
from app.services.judge_program import CachedJudge
from app.services.remove_recording import remove_recording
from app.web.text import printable

app = typer.Typer(help="Recorded runs: import, and remove again.", no_args_is_help=True)


@app.command("formats")
def formats(as_json: JsonFlag = False) -> None:
    """List the formats that recorded runs are read from."""
    documents = [{"name": name, "reads": form.words, "programs": form.programs} for name, form in FORMATS.items()]
    emit(documents, as_json, "\n".join(f"{name:10}{form.words}" for name, form in FORMATS.items()))


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="The file, or for the format tree a folder.")],
    format: Annotated[str, typer.Option(help=f"One of: {', '.join(FORMATS)}.")],
    problems: Annotated[
        str | None, typer.Option(help="Problem set; NAME@VERSION for another than its latest. halflife says it itself.")
    ] = None,
    model: Annotated[str, typer.Option(help="Who was asked, for formats that do not say it.")] = "",
    attempts: Annotated[
        int | None, typer.Option(min=1, max=MAX_ATTEMPTS, help="Attempts there could be, where the file does not say.")
    ] = None,
    part: Annotated[str | None, typer.Option(help="MODEL/LANGUAGE, of a tree that holds several runs.")] = None,
    re_execute: Annotated[
        bool, typer.Option("--re-execute", help="Judge every recorded program here, in the sandbox.")
    ] = False,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Leave out records that cannot be read; they are listed.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Store a recorded run; no model is asked, and no server need be running. The same file is stored once."""
    files = _files(path, recording_format(format))
    with installation() as opened_:
        request = RecordingRequest(
            format=format,
            problem_set_id=None if problems is None else problem_set_id(opened_, problems),
            model=model,
            attempts=attempts,
            part=part,
            skip_broken=skip_broken,
            re_execute=re_execute,
        )
        with _judge(opened_, wanted=re_execute) as judge:
            report = import_recording(
                opened_.db,
                files,
                request,
                file_name=path.name,
                judge=judge,
                slots=opened_.settings.execute_slots,
                progress=_progress,
            )
        with opened_.db.read() as session:
            found = disagreements(session, report.run)
    for one in report.skipped:
        note(f"left out: {one.place}: {one.reason}")
    document = asdict(report) | {
        "skipped": [asdict(one) for one in report.skipped],
        "disagreements": [
            {
                "label": one.label,
                "attempt": one.attempt_index,
                "recorded": one.recorded,
                "judged": one.judged,
                "counts": one.counts,
            }
            for one in found
        ],
    }
    emit(document, as_json, printable(_text(report, document)))


@app.command("remove")
def remove(run_id: RunId, as_json: JsonFlag = False) -> None:
    """Remove an imported run wholly, with all its attempts. A run made here is kept."""
    with installation() as opened_:
        remove_recording(opened_.db, run_id)
    emit({"id": run_id, "removed": True}, as_json, f"run {run_id} removed")


@contextmanager
def _judge(opened_: Installation, *, wanted: bool) -> Iterator[CachedJudge | None]:
    if not wanted:
        yield None
        return
    with sandbox_of(opened_.settings) as sandbox:
        yield CachedJudge(opened_.db, sandbox)


def _files(path: Path, form: Format) -> Files:
    """The recording's files. Raises InputError where they cannot be read, FormatError where they are too large."""
    try:
        if not path.is_dir():
            if path.stat().st_size > MAX_BYTES:
                raise FormatError(f"{path}: larger than the {MAX_BYTES} bytes allowed")
            return opened(path.read_bytes(), form)
        if not form.folder:
            raise InputError(f"{path}: it is a folder; this format is one file")
        return _folder(path)
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror}") from error


def _folder(path: Path) -> Files:
    """The JSON files below a folder, by paths that begin with its own name: it may be that of the language."""
    files: dict[str, bytes] = {}
    left = MAX_BYTES
    root = path.resolve()
    for file in sorted(root.rglob("*.json")):
        if not file.is_file():
            continue
        if len(files) == MAX_ENTRIES or file.stat().st_size > left:
            raise FormatError(f"{path}: more than {MAX_ENTRIES} files or {MAX_BYTES} bytes; choose a folder below it")
        content = file.read_bytes()
        files[file.relative_to(root.parent).as_posix()] = content
        left -= len(content)
    return files


def _progress(done: int, total: int) -> None:
    if total and (done == total or done % 50 == 0):
        note(f"judged {done} of {total} programs")


def _text(report: RecordingReport, document: dict[str, Any]) -> str:
    state = "stored" if report.created else "there already, unchanged"
    solved = ", ".join(map(str, report.solved_at_attempt))
    lines = [
        f"run {report.run}, {report.model}: {state}",
        f"{report.problems} problems, {report.attempts} attempts, {len(report.skipped)} records left out",
        f"solved at attempt 0, 1, …: {solved} of {report.n}",
    ]
    if report.programs:
        lines.append(f"{report.programs} programs judged here, {report.disagreements} not as recorded")
    lines += [
        f"  {one['label']}, attempt {one['attempt']}: recorded {one['recorded']}, judged {one['judged']}"
        for one in document["disagreements"]
    ]
    return "\n".join([*lines, *report.notes])

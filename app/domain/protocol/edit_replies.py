"""From a model's reply to the repaired program, where the reply may hold edits in place of a whole program. Pure.

Understood are search/replace blocks, unified diffs and whole programs. Models count lines badly, so that the lines
of an edit say where it belongs, and stated numbers decide only among several such places. White space at line ends does
not count; indentation does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.domain.edits.diff import FileLines
from app.domain.programs import Program
from app.domain.protocol.extraction import extract

_SEARCH = re.compile(r"<{5,9}[ \t]*SEARCH\b")
_DIVIDER = re.compile(r"={5,9}[ \t]*$")
_REPLACE = re.compile(r">{5,9}[ \t]*REPLACE\b")
_HUNK = re.compile(r"@@[ \t]*$|@@[ \t].*@@")
_FILE = re.compile(r"^(?:---|\+\+\+)[ \t]+([ab]/)?([^\t]+?)[ \t]*(?:\t.*)?$")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_DIFF_FENCES = {"diff", "patch", "udiff"}
_INSIDE = re.compile(r"(?!\.)[\w.-]+(?:/(?!\.)[\w.-]+)*")
"""Paths of files that an edit may make."""
_NOWHERE = "/dev/null"


class Form(StrEnum):
    """How a reply gives its repair."""

    PROGRAM = "program"
    UNIFIED_DIFF = "unified_diff"
    SEARCH_REPLACE = "search_replace"
    NONE = "none"


class Obstacle(StrEnum):
    """Why a reply gives no repaired program."""

    NO_CODE = "no_code"
    """It holds neither a program nor edits."""
    LINES_NOT_FOUND = "lines_not_found"
    """The lines that an edit replaces are not in the program."""
    LINES_FOUND_TWICE = "lines_found_twice"
    """They are in several places, and nothing says which is meant."""
    NO_PLACE = "no_place"
    """An edit replaces nothing, and does not say where its lines belong."""
    UNKNOWN_FILE = "unknown_file"
    """An edit is of a file that the program does not have, or, in a program of several files, names none."""
    NO_CHANGE = "no_change"
    """What is written as edits changes nothing."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The repaired program and how the reply gave it; `program` is None where `obstacle` says why, and `part` where.

    `part` counts the reply's edits from 1.
    """

    program: Program | None
    form: Form
    obstacle: Obstacle | None = None
    part: int | None = None


def read_repair(reply: str, buggy: Program, entry_point: str, language: str = "python") -> Repair:
    """Find the repaired program in a reply to `buggy`.

    Search/replace blocks come before diffs, and these before whole programs. Where edits do not apply, a whole program
    that the reply holds beside them counts. All edits of a reply apply, or none does.
    """
    text = reply.replace("\r\n", "\n")
    failed: Repair | None = None
    for form, edits in (
        (Form.SEARCH_REPLACE, _search_replace_edits(text, buggy)),
        (Form.UNIFIED_DIFF, _diff_edits(text)),
    ):
        if edits:
            failed = _applied(edits, buggy, form)
            break
    if failed is not None and failed.program is not None:
        return failed
    whole = _whole_program(text, buggy, entry_point, language)
    if whole is not None:
        return Repair(whole, Form.PROGRAM)
    return failed or Repair(None, Form.NONE, Obstacle.NO_CODE)


@dataclass(slots=True)
class _Edit:
    """Lines replaced by others. `path` is None where none is named; `line` is the stated first one, from 1."""

    path: str | None
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    line: int | None = None
    creates: bool = False
    deletes: bool = False


class _DoesNotApplyError(Exception):
    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle


def _applied(edits: Sequence[_Edit], buggy: Program, form: Form) -> Repair:
    files = {path: FileLines.of(source) for path, source in buggy.files.items()}
    moved: dict[str, int] = {}
    for number, edit in enumerate(edits, start=1):
        try:
            _apply(edit, files, moved)
        except _DoesNotApplyError as failure:
            return Repair(None, form, failure.obstacle, number)
    program = Program({path: file.source for path, file in files.items()})
    if program == buggy:
        return Repair(None, form, Obstacle.NO_CHANGE)
    return Repair(program, form)


def _apply(edit: _Edit, files: dict[str, FileLines], moved: dict[str, int]) -> None:
    """Apply one edit. `moved` says by how much the edits so far have moved the lines below them, by file."""
    path = _file(edit, files)
    if edit.deletes and len(files) > 1:
        del files[path]
        return
    if edit.creates or edit.deletes:
        files[path] = FileLines.of("")
    lines = files[path].lines
    at = _place(edit, lines, moved.get(path, 0))
    lines[at : at + len(edit.old)] = edit.new
    moved[path] = moved.get(path, 0) + len(edit.new) - len(edit.old)


def _file(edit: _Edit, files: Mapping[str, FileLines]) -> str:
    if len(files) == 1:
        return next(iter(files))
    if edit.creates:
        if edit.path is None or not _INSIDE.fullmatch(edit.path):
            raise _DoesNotApplyError(Obstacle.UNKNOWN_FILE)
        return edit.path
    named = [path for path in files if edit.path is not None and (path == edit.path or edit.path.endswith(f"/{path}"))]
    if len(named) != 1:
        raise _DoesNotApplyError(Obstacle.UNKNOWN_FILE)
    return named[0]


def _place(edit: _Edit, lines: list[str], moved: int) -> int:
    stated = None if edit.line is None else edit.line - 1 + moved
    if not edit.old:
        if edit.creates or edit.deletes:
            return 0
        if stated is None:
            raise _DoesNotApplyError(Obstacle.NO_PLACE)
        # A hunk of no old lines names the line above it.
        return min(max(stated + 1, 0), len(lines))
    places = _places(edit.old, lines)
    while not places and len(edit.old) > 1 and edit.old[-1:] == edit.new[-1:] == [""]:
        # Blank lines between a hunk and what the model wrote below it.
        del edit.old[-1], edit.new[-1]
        places = _places(edit.old, lines)
    if not places:
        raise _DoesNotApplyError(Obstacle.LINES_NOT_FOUND)
    if stated is not None:
        return min(places, key=lambda place: abs(place - stated))
    if len(places) > 1:
        raise _DoesNotApplyError(Obstacle.LINES_FOUND_TWICE)
    return places[0]


def _places(old: Sequence[str], lines: Sequence[str]) -> list[int]:
    wanted, present = [line.rstrip() for line in old], [line.rstrip() for line in lines]
    size = len(wanted)
    return [at for at in range(len(present) - size + 1) if present[at : at + size] == wanted]


def _search_replace_edits(text: str, buggy: Program) -> list[_Edit]:
    edits: list[_Edit] = []
    path: str | None = None
    edit: _Edit | None = None
    side: list[str] = []
    for line in text.split("\n"):
        if _SEARCH.match(line):
            edit = _Edit(path)
            side = edit.old
        elif edit is None:
            path = _named_file(line, buggy) or path
        elif _DIVIDER.match(line) and side is edit.old:
            side = edit.new
        elif _REPLACE.match(line) and side is edit.new:
            edits.append(edit)
            edit = None
        else:
            side.append(line)
    return edits


def _named_file(line: str, buggy: Program) -> str | None:
    """The file of the program that a line of prose names."""
    words = re.findall(r"[^\s`*:\"'()]+", line)
    return next((path for path in buggy.files if path in words), None)


def _diff_edits(text: str) -> list[_Edit]:
    edits: list[_Edit] = []
    for lines, fenced in _diffs(text):
        edits += _hunks(lines, fenced)
    return [edit for edit in edits if edit.deletes or edit.old != edit.new]


def _diffs(text: str) -> Iterator[tuple[list[str], bool]]:
    """Stretches of a reply that are diffs: fences named so, and what has a hunk's header; whether it is in a fence."""
    stretch: list[str] = []
    info: str | None = None
    for line in [*text.split("\n"), "```"]:
        fence = _FENCE.match(line)
        if fence is None:
            stretch.append(line)
            continue
        named = info is not None and info.strip().lower().partition(" ")[0] in _DIFF_FENCES
        if named or any(map(_is_hunk, stretch)):
            yield stretch, info is not None
        stretch, info = [], fence["info"] if info is None else None


def _is_hunk(line: str) -> bool:
    """Whether a line is a hunk's header; a single @ begins Python's decorators."""
    return _HUNK.match(line) is not None


def _hunks(lines: Sequence[str], fenced: bool) -> list[_Edit]:
    """The hunks of a diff; one without any header is a single hunk, if it is in a fence."""
    edits: list[_Edit] = []
    headed = any(map(_is_hunk, lines))
    path, creates = None, False
    hunk: _Edit | None = None
    numbered = iter(enumerate(lines))
    for at, line in numbered:
        if line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            next(numbered)
            old, new = (_FILE.sub(r"\2", one) for one in (line, lines[at + 1]))
            path, creates, hunk = (old if new == _NOWHERE else new), old == _NOWHERE, None
            if new == _NOWHERE:
                edits.append(_Edit(path, deletes=True))
        elif edits and edits[-1].deletes and edits[-1].path == path:
            continue  # the lines of a file that is deleted
        elif _is_hunk(line):
            start = re.search(r"-(\d+)", line)
            hunk = _Edit(path, line=int(start[1]) if start else None, creates=creates)
            edits.append(hunk)
        elif line.startswith("diff --git "):
            hunk = None
        else:
            if hunk is None and fenced and not headed and line[:1] in {"+", "-", " "}:
                hunk = _Edit(path, creates=creates)
                edits.append(hunk)
            if hunk is not None and not _read_line(hunk, line, fenced):
                hunk = None
    return edits


def _read_line(hunk: _Edit, line: str, fenced: bool) -> bool:
    """Take a line into the hunk; False where the hunk ended before it."""
    mark, rest = line[:1], line[1:]
    if mark == "\\":
        return True
    if mark == "-":
        hunk.old.append(rest)
    elif mark == "+":
        hunk.new.append(rest)
    elif mark in {" ", ""} or fenced:
        # A blank line of context may have lost its mark, and in a fence any line of context.
        context = rest if mark == " " else line
        hunk.old.append(context)
        hunk.new.append(context)
    else:
        return False
    return True


def _whole_program(text: str, buggy: Program, entry_point: str, language: str) -> Program | None:
    """The whole program that a reply holds; of several files, those that it gives, in fences below their names."""
    if len(buggy.files) > 1:
        given = dict(_named_files(text, buggy))
        return Program({**buggy.files, **given}) if given else None
    found = extract(text, entry_point, language)
    if found.program is None or _marked(text if found.rule == "bare" else found.program.source):
        return None
    (path,) = buggy.files
    return Program({path: found.program.source})


def _marked(text: str) -> bool:
    """Whether it holds marks of edits, which are no program whatever else is."""
    return any(_is_hunk(line) or _SEARCH.match(line) or _REPLACE.match(line) for line in text.split("\n"))


def _named_files(text: str, buggy: Program) -> Iterator[tuple[str, str]]:
    named: str | None = None
    body: list[str] | None = None
    path: str | None = None
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if body is None and fence is None:
            # Of the last line that is not blank: what is named further up is not the name of the next fence.
            named = _named_file(line, buggy) if line.strip() else named
        elif body is None and fence is not None:
            body, path, named = [], _named_file(fence["info"], buggy) or named, None
        elif body is not None and fence is None:
            body.append(line)
        elif body is not None:
            if path is not None and not any(map(_is_hunk, body)):
                yield path, "\n".join([*body, ""])
            body = None

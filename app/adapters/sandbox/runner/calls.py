"""The candidate's side: it loads the program and answers calls, or runs it. It never learns what is expected."""

import atexit
import contextlib
import functools
import json
import os
import socket
import stat
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from app.adapters.sandbox.runner import frames, program
from app.domain.codec import CodecError, decode, encode


def serve(request: dict[str, Any], control: socket.socket, calls: socket.socket) -> None:
    """Load the program, then answer calls until the other side closes.

    On `control`: `X` (does not compile: reason) or `C`, then `I` (its own code raised: name, base, detail,
    allocation) or `R`. On `calls`, in: `?` (number, what to call, arguments, named arguments or nothing), where what to
    call is the entry point if it is empty and otherwise `module:name.name`; out: `V` (number, value, all arguments
    where the call changed them and tests run beside), `E` (number, name, base, detail, allocation) or `U` (number,
    type, whether the program itself decides what the value equals). In: `@` (number, what to look at); out: `V` for a
    value, `F` (number) for a function, `U` for anything else, `E`.
    """
    loaded = load(request, control)
    if loaded is None:
        return
    namespace, sources = loaded
    entry_point, read = request["entry_point"], calls.recv
    while True:
        try:
            kind, fields = frames.unpack(frames.read_frame(read, frames.MAX_REQUEST))
        except (frames.ChannelClosed, ConnectionError):
            return
        number, name = fields[:2]

        def find(name: str = name) -> Any:
            return program.find(name) if name else program.resolve(namespace, entry_point)

        if kind == "@":
            calls.sendall(_look(find, sources, number))
        else:
            calls.sendall(_answer(find, sources, request, *fields[2:], number=number))


def run_script(request: dict[str, Any], control: socket.socket) -> None:
    """Run the program as `python3 solution.py` would be, to its end; the process then ends as that one would.

    On `control`: `X`, or `C` and, where the program's code raised, `I`.
    """
    prepared = _compile(request, control)
    if prepared is None:
        return
    code, files = prepared
    module = types.ModuleType("__main__")
    module.__dict__["__file__"] = code.co_filename
    sys.modules["__main__"] = module
    exit_code = 0
    try:
        exec(code, module.__dict__)  # noqa: S102 - running the program is what the sandbox is for
    except SystemExit as error:
        exit_code = _exit_code(error)
    except BaseException as error:  # noqa: BLE001 - a KeyboardInterrupt too is of the program's making
        raised = program.describe(error, files)
        with contextlib.suppress(BaseException):
            sys.excepthook(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        control.sendall(frames.pack("I", raised.name, raised.base, raised.detail, str(int(raised.allocation))))
        exit_code = 1
    # As the interpreter does at its end.
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    _flush()
    os._exit(exit_code)


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{error.code}\n")
    return 1


def run_command(request: dict[str, Any], control: socket.socket) -> None:
    """Lay out the program's and the tests' files and run the command there; `T` on `control` with the report's text."""
    control.sendall(frames.pack("C"))
    root = os.getcwd()
    program.place_files(request["files"] | request["test_files"], root)
    control.sendall(frames.pack("R"))
    command = list(request["command"])
    if command[0] in ("python", "python3"):
        command[0] = sys.executable
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([root, program.TEST_PACKAGES]))
    # Only here: subprocess and what it imports would make every fork slower.
    import subprocess

    try:
        ended = subprocess.run(command, env=environment, check=False)
        failure = "" if ended.returncode == 0 else str(ended.returncode)
    except OSError as error:
        failure = f"{command[0]}: {error.strerror}"
    control.sendall(frames.pack("T", json.dumps({"failure": failure, "report": _read_report(request["report"])})))


def _read_report(path: str) -> str | None:
    """The report's text. Only a plain file of a sensible size is one: no link, no FIFO, nothing sparse and huge."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > program.MAX_REPORT:
            return None
        return file.read(program.MAX_REPORT).decode("utf-8", "replace")


def load(request: dict[str, Any], control: socket.socket) -> tuple[dict[str, Any], dict[str, str]] | None:
    """Compile and run the module; tells `control` how it went. None where there is nothing to call."""
    prepared = _compile(request, control)
    if prepared is None:
        return None
    code, files = prepared
    try:
        namespace = program.load(code, prelude=request["prelude"])
    except BaseException as error:  # noqa: BLE001 - SystemExit too is an end of the program's making
        raised = program.describe(error, files)
        _flush()
        control.sendall(frames.pack("I", raised.name, raised.base, raised.detail, str(int(raised.allocation))))
        return None
    control.sendall(frames.pack("R"))
    return namespace, files


def _compile(request: dict[str, Any], control: socket.socket) -> tuple[types.CodeType, dict[str, str]] | None:
    """The main file's code and all sources by the names that tracebacks know them by."""
    files: dict[str, str] = request["files"]
    main = program.main_file(files)
    try:
        code = program.compile_source(files.get(main, ""), main)
    except program.NotCompilable as error:
        control.sendall(frames.pack("X", str(error)))
        return None
    control.sendall(frames.pack("C"))
    if len(files) > 1:
        root = os.getcwd()
        program.place_files(files, root)
        sys.path.insert(0, root)
        files = files | {os.path.join(root, path): source for path, source in files.items()}
    return code, files


def _look(find: Callable[[], Any], sources: dict[str, str], number: str) -> bytes:
    """What a suite finds under a name: a function it may call, a value, or something that cannot cross."""
    try:
        found = find()
        if isinstance(found, types.FunctionType | types.BuiltinFunctionType | functools.partial) or hasattr(
            found, "__wrapped__"
        ):
            return frames.pack("F", number)
        return frames.pack("V", number, encode(found), "")
    except CodecError as error:
        return frames.pack("U", number, str(error), "0")
    except BaseException as error:  # noqa: BLE001 - as above
        return _raised(error, sources, number)


def _answer(
    find: Callable[[], Any],
    sources: dict[str, str],
    request: dict[str, Any],
    arguments: str,
    named: str,
    *,
    number: str,
) -> bytes:
    # Decoded for this call alone: what an earlier call did to its arguments is not seen.
    values = decode(arguments)
    keywords = decode(named) if named else {}
    result: Any = None
    try:
        result = find()(*values, **keywords)
        if request["in_place"] is not None:
            result = values[request["in_place"]]
        _flush()
        changed = ""
        if request["style"] == "across" and (after := encode(values)) != arguments:
            changed = after
        return frames.pack("V", number, encode(result), changed)
    except CodecError as error:
        return frames.pack("U", number, str(error), str(int(program.decides_equality(result, sources))))
    except BaseException as error:  # noqa: BLE001 - as above
        return _raised(error, sources, number)


def _raised(error: BaseException, sources: dict[str, str], number: str) -> bytes:
    raised = program.describe(error, sources)
    _flush()
    return frames.pack("E", number, raised.name, raised.base, raised.detail, str(int(raised.allocation)))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The program may have closed or replaced it.
        with contextlib.suppress(Exception):
            stream.flush()

"""The candidate's side: it loads the program and answers calls. It never learns what is expected."""

import contextlib
import os
import socket
import sys
from typing import Any

from app.adapters.sandbox.runner import frames, program
from app.domain.codec import CodecError, decode, encode


def serve(request: dict[str, Any], control: socket.socket, calls: socket.socket) -> None:
    """Load the program, then answer calls until the other side closes.

    On `control`: `X` (does not compile: reason) or `C`, then `I` (its own code raised: name, base, detail,
    allocation) or `R`. On `calls`, in: `?` (number, arguments); out: `V` (number, value), `E` (number, name, base,
    detail, allocation) or `U` (number, type, whether the program itself decides what the value equals).
    """
    loaded = load(request, control)
    if loaded is None:
        return
    namespace, sources = loaded
    read = calls.recv
    while True:
        try:
            _, (number, arguments) = frames.unpack(frames.read_frame(read, frames.MAX_REQUEST))
        except (frames.ChannelClosed, ConnectionError):
            return
        calls.sendall(_answer(namespace, request["entry_point"], sources, number, arguments))


def load(request: dict[str, Any], control: socket.socket) -> tuple[dict[str, Any], dict[str, str]] | None:
    """Compile and run the module; tells `control` how it went. None where there is nothing to call."""
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
    try:
        namespace = program.load(code)
    except BaseException as error:  # noqa: BLE001 - SystemExit too is an end of the program's making
        raised = program.describe(error, files)
        _flush()
        control.sendall(frames.pack("I", raised.name, raised.base, raised.detail, str(int(raised.allocation))))
        return None
    control.sendall(frames.pack("R"))
    return namespace, files


def _answer(namespace: dict[str, Any], entry_point: str, sources: dict[str, str], number: str, arguments: str) -> bytes:
    # Decoded for this call alone: what an earlier call did to its arguments is not seen.
    values = decode(arguments)
    result: Any = None
    try:
        result = program.resolve(namespace, entry_point)(*values)
        _flush()
        return frames.pack("V", number, encode(result))
    except CodecError as error:
        return frames.pack("U", number, str(error), str(int(program.decides_equality(result, sources))))
    except BaseException as error:  # noqa: BLE001 - as above
        raised = program.describe(error, sources)
        _flush()
        return frames.pack("E", number, raised.name, raised.base, raised.detail, str(int(raised.allocation)))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The program may have closed or replaced it.
        with contextlib.suppress(Exception):
            stream.flush()

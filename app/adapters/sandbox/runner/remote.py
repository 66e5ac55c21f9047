"""The candidate as the tests see it: functions and modules that stand for what is in the candidate's process."""

import socket
import sys
import types
from typing import Any

from app.adapters.sandbox.runner import frames
from app.adapters.sandbox.runner.checks import MAX_TEXT, Checks
from app.domain.codec import CodecError, decode, encode, readable

_FIELDS = {"V": 3, "E": 5, "U": 3, "F": 1}
"""How many fields an answer has."""


class Line:
    """The channel to the candidate's process: one question at a time. Raises NotCrossing and CandidateGone."""

    def __init__(self, peer: socket.socket, checks: Checks) -> None:
        self._peer = peer
        self.checks = checks
        self._number = 0

    def ask(self, kind: str, *fields: str) -> tuple[str, list[str]]:
        """The answer's kind and its fields after the number."""
        self._number += 1
        number = str(self._number)
        try:
            self._peer.sendall(frames.pack(kind, number, *fields))
            answer, parts = frames.unpack(frames.read_frame(self._peer.recv, frames.MAX_MESSAGE))
        except (ConnectionError, frames.ChannelClosed, frames.FrameError):
            raise self.checks.stop_gone() from None
        if not parts or parts[0] != number or len(parts) != _FIELDS.get(answer):
            raise self.checks.stop_gone()
        return answer, parts[1:]

    def value(self, text: str) -> Any:
        """A value that came. What is none was not written by our side."""
        try:
            return decode(text)
        except CodecError:
            raise self.checks.stop_gone() from None


class Proxy:
    """Stands for a function of the candidate within the tests. `place` is empty for the entry point."""

    def __init__(self, line: Line, place: str, name: str) -> None:
        self._line = line
        self._place = place
        self.__name__ = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function in its own process. What it does to lists, dicts and sets it was given comes back."""
        try:
            sent = encode(arguments)
            keywords = encode(named) if named else ""
        except CodecError as error:
            raise self._line.checks.stop_not_crossing(str(error)) from None
        kind, fields = self._line.ask("?", self._place, sent, keywords)
        shown = readable(sent, MAX_TEXT // 2)
        call = self.__name__ + (shown[:-2] + ")" if shown.endswith(",)") else shown)
        if kind == "V":
            result = self._line.value(fields[0])
            if fields[1]:
                _change(arguments, self._line.value(fields[1]))
            self._line.checks.last_call = f"{call} returned {readable(fields[0], MAX_TEXT // 2)}"
            return result
        return self._line.checks.raise_answer(kind, fields, call)


def _change(arguments: tuple[Any, ...], after: Any) -> None:
    """Give the tests' own lists, dicts and sets the content that the call left in its copies."""
    for mine, new in zip(arguments, after, strict=False):
        if isinstance(mine, list) and isinstance(new, list):
            mine[:] = new
        elif isinstance(mine, dict | set) and type(mine) is type(new):
            mine.clear()
            mine.update(new)


def install(line: Line, modules: list[str], main: str) -> None:
    """Let the suite import the candidate's modules. `main` is the name it knows the main module by."""
    for name in modules:
        _module(line, name, name)
        parent, _, child = name.rpartition(".")
        while parent:
            package = sys.modules.get(parent)
            if not isinstance(package, types.ModuleType):
                package = _module(line, parent, parent)
            package.__dict__["__path__"] = []
            package.__dict__.setdefault(child, sys.modules[f"{parent}.{child}"])
            parent, _, child = parent.rpartition(".")
    _module(line, main, "")


def _module(line: Line, name: str, place: str) -> types.ModuleType:
    module = _Module(name)
    module.__dict__["_halflife"] = (line, place)
    sys.modules[name] = module
    return module


class _Module(types.ModuleType):
    """Looks every name up in the candidate's process, anew each time."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        line, module = self.__dict__["_halflife"]
        place = f"{module}:{'*' if name == '__all__' else name}"
        kind, fields = line.ask("@", place)
        if kind == "F":
            return Proxy(line, place, name)
        if kind == "V":
            return line.value(fields[0])
        if kind == "E" and fields[1] == "AttributeError":
            raise AttributeError(f"the program does not define {name!r}")
        if kind == "U":
            return _Uncrossable(line.checks, f"{name}: {fields[0]}")
        return line.checks.raise_answer(kind, fields, name)


class _Uncrossable:
    """A class or an object of the program. It may be imported; whoever uses it needs the program's own process."""

    def __init__(self, checks: Checks, reason: str) -> None:
        self.__dict__["_halflife"] = (checks, reason)

    def _use(self, *_: Any, **__: Any) -> Any:
        checks, reason = self.__dict__["_halflife"]
        raise checks.stop_not_crossing(reason)

    __call__ = __setattr__ = __instancecheck__ = __subclasscheck__ = __mro_entries__ = _use
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _use
    __iter__ = __len__ = __contains__ = __getitem__ = __setitem__ = __bool__ = __repr__ = __str__ = _use
    __add__ = __radd__ = __sub__ = __mul__ = __enter__ = __exit__ = _use

    def __getattr__(self, name: str) -> Any:
        # A framework looks at every name of a module to find its own marks.
        if name.startswith("_") or "pytest" in name:
            raise AttributeError(name)
        return self._use()

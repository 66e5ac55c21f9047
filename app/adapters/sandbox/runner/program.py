"""Compiling and loading a Python program, calling it, and describing what it raises."""

import builtins
import importlib
import opcode
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

MODULE = "solution"
"""Name the program is imported under; never `__main__`, so that a main guard stays closed."""

LENT_VARIABLE = "HALFLIFE_LENT"
"""Where a sandbox that is none has the folders below."""
PACKAGES = os.path.join(os.environ.get(LENT_VARIABLE, "/halflife"), "packages")
"""What every program may import beside the standard library."""
TEST_PACKAGES = os.path.join(os.environ.get(LENT_VARIABLE, "/halflife"), "test-packages")
"""pytest and what it needs, for tests only."""
MAX_REPORT = 4 * 1024 * 1024
"""Bytes of the report that a test command leaves."""

_MAX_MESSAGE = 2000
_FIRST_FRAMES, _LAST_FRAMES = 3, 8
_RAISES = frozenset(opcode.opmap[name] for name in ("RAISE_VARARGS", "RERAISE"))


class Raised(NamedTuple):
    """An exception as text. `base` is the nearest built-in type, `allocation` that memory ran out by itself."""

    name: str
    base: str
    detail: str
    allocation: bool


class NotCompilable(Exception):
    """The source cannot be compiled. The message is the compiler's."""


def compile_source(source: str, filename: str) -> types.CodeType:
    """Compile one file. Raises NotCompilable for whatever the compiler says about it."""
    try:
        code = compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f"{error.filename}, line {error.lineno}: " if error.lineno else ""
        line = f"\n    {error.text.strip()[:200]}" if error.text else ""
        raise NotCompilable(f"{type(error).__name__}: {place}{error.msg}{line}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError, SystemError) as error:
        raise NotCompilable(f"{type(error).__name__}: {str(error)[:_MAX_MESSAGE]}") from None
    return code


def place_files(files: dict[str, str], root: str) -> None:
    """Write the files of a program under `root`. A file that cannot be written is left out."""
    for path, source in files.items():
        target = os.path.normpath(os.path.join(root, path))
        if not target.startswith(root + os.sep):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", errors="surrogatepass", newline="") as out:
            out.write(source)


def main_file(files: dict[str, str]) -> str:
    """The file that is run: solution.py, or the only one."""
    preferred = MODULE + ".py"
    return preferred if preferred in files or not files else next(iter(files))


def load(code: types.CodeType, name: str = MODULE, prelude: str = "") -> dict[str, Any]:
    """Run the prelude, then the code as the module `name`; its globals. Whatever they raise goes through."""
    module = types.ModuleType(name)
    module.__dict__["__file__"] = code.co_filename
    sys.modules[name] = module
    if prelude:
        exec(compile(prelude, "prelude.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - as below
    exec(code, module.__dict__)  # noqa: S102 - running the program is what the sandbox is for
    return module.__dict__


def resolve(namespace: dict[str, Any], entry_point: str) -> Callable[..., Any]:
    """The callable an entry point names. `Class.method` gives the method of a new instance.

    Raises NameError or AttributeError where the program does not define it.
    """
    first, *rest = entry_point.split(".")
    if first not in namespace:
        raise NameError(f"the program does not define {first!r}")
    target = namespace[first]
    for name in rest:
        if isinstance(target, type):
            target = target()
        target = getattr(target, name)
    return target  # type: ignore[no-any-return]


def find(place: str) -> Any:
    """What `module:name.name` names, imported if need be; `:name` is of the main module.

    `module:*` gives the names that `from module import *` is to bring.
    Raises what the import raises, and AttributeError.
    """
    module, _, names = place.partition(":")
    target: Any = importlib.import_module(module or MODULE)
    if names == "*":
        return _public_names(target)
    for name in names.split(".") if names else ():
        target = getattr(target, name)
    return target


def _public_names(module: types.ModuleType) -> list[str]:
    """Without what the module merely imported: modules, and functions and classes of others."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", module.__name__) == module.__name__
    ]


def decides_equality(value: Any, sources: dict[str, str]) -> bool:
    """Whether comparing this value would run the program's own code."""
    method = type(value).__eq__
    return isinstance(method, types.FunctionType) and method.__code__.co_filename in sources


def describe(error: BaseException, sources: dict[str, str]) -> Raised:
    """An exception as text: its message and the program's lines it went through.

    `sources` maps file names to text. The exception's own code (its __str__) may run.
    """
    kind = type(error)
    base = next(
        (one.__name__ for one in kind.__mro__ if one.__module__ == "builtins" and one.__name__ in builtins.__dict__),
        "Exception",
    )
    try:
        message = str(error)[:_MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 - it is the program's method, and it may raise anything
        message = "(its message cannot be shown)"
    frames = []
    innermost = None
    trace = error.__traceback__
    while trace is not None:
        innermost = trace
        if trace.tb_frame.f_code.co_filename in sources:
            frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    allocation = False
    if isinstance(error, MemoryError) and innermost is not None:
        operation = innermost.tb_frame.f_code.co_code[innermost.tb_lasti] if innermost.tb_lasti >= 0 else 0
        allocation = operation not in _RAISES
    lines = []
    for index, (code, number) in enumerate(frames):
        if _FIRST_FRAMES <= index < len(frames) - _LAST_FRAMES:
            if index == _FIRST_FRAMES:
                lines.append(f"  … {len(frames) - _FIRST_FRAMES - _LAST_FRAMES} more calls …")
            continue
        text = sources[code.co_filename].split("\n")
        lines.append(f"  {code.co_filename}, line {number}, in {code.co_name}")
        if 0 < number <= len(text):
            lines.append(f"    {text[number - 1].strip()[:200]}")
    name = str(kind.__name__)[:200]
    return Raised(name, base, "\n".join([f"{name}: {message}" if message else name, *lines]), allocation)

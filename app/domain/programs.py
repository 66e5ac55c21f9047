"""Programs: paths mapped to sources, so that a repository-level item is the same thing with more files."""

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.syntax import parse

SOLUTION_PATH = {"python": "solution.py"}
MOST_PARSED = 100_000
"""Characters of a file that is compared by its syntax tree; a longer one, by its text."""


@dataclass(frozen=True, slots=True)
class Program:
    """Source files by path relative to the program's root.

    Sources come from untrusted replies: they may hold NUL and lone surrogates.
    """

    files: Mapping[str, str]

    @classmethod
    def single(cls, source: str, language: str = "python") -> "Program":
        """A program of one file under the name its language expects."""
        return cls({SOLUTION_PATH[language]: source})

    @property
    def source(self) -> str:
        """The text of a one-file program.

        Raises ValueError for a program of several files, which has no single text.
        """
        (source,) = self.files.values()
        return source

    def content_hash(self) -> str:
        """SHA-256 over paths and sources, independent of the order of files."""
        return _digest(self.files)

    def syntax_hash(self) -> str:
        """SHA-256 over paths and syntax trees: the same for programs that differ in layout and comments alone.

        Text whose trailing blanks are removed stands for a tree where a file does not parse.
        """
        return _digest({path: _syntax(source) for path, source in self.files.items()})


def _syntax(source: str) -> str:
    if len(source) <= MOST_PARSED:
        # NUL and surrogates are ValueErrors; a chain of a hundred thousand operators ends in one of the last two.
        try:
            return ast.dump(parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return "\n".join(line.rstrip() for line in source.rstrip().splitlines())


def _digest(texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for path, text in sorted(texts.items()):
        for part in (path, text):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big"))
            digest.update(encoded)
    return digest.hexdigest()

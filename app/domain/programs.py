"""Programs: paths mapped to sources, so that a repository-level item is the same thing with more files."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

SOLUTION_PATH = {"python": "solution.py"}


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
        digest = hashlib.sha256()
        for path, source in sorted(self.files.items()):
            for part in (path, source):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "big"))
                digest.update(encoded)
        return digest.hexdigest()

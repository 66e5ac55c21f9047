"""Paths of test files."""

from collections.abc import Iterable

from app.domain.errors import InputError


def check_files(paths: Iterable[str]) -> None:
    """Refuse paths that lead out of the folder they are laid into. Raises InputError."""
    for path in paths:
        parts = path.split("/")
        if path.startswith("/") or "\0" in path or not all(part not in ("", ".", "..") for part in parts):
            raise InputError(f"tests: {path!r} is not the path of a file within the folder")

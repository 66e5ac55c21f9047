"""The `halflife` program on homes of its own: as a process, and called in this one where only its words matter."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.db.models import Base
from app.db.session import Database

HALFLIFE = Path(sys.executable).parent / "halflife"


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@dataclass
class Home:
    """An installation's folder, and commands on it."""

    path: Path
    env: dict[str, str] = field(default_factory=dict)

    def environment(self, **env: str) -> dict[str, str]:
        """Ours without any setting of Halflife's, but with this home."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("HALFLIFE_")}
        return {**ours, "HALFLIFE_HOME": str(self.path), "COLUMNS": "200", "NO_COLOR": "1", **self.env, **env}

    def start(self, *arguments: str | Path, **env: str) -> subprocess.Popen[str]:
        """Start the real program."""
        return subprocess.Popen(
            [HALFLIFE, *arguments],
            env=self.environment(**env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str | Path, **env: str) -> Ended:
        """Run the real program to its end."""
        with self.start(*arguments, **env) as process:
            out, err = process.communicate(timeout=100)
        return Ended(process.returncode, out, err)

    def call(self, *arguments: str | Path, **env: str) -> Ended:
        """Call the same entry point in this process, which saves the seconds that its imports take."""
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("HALFLIFE_")]:
                patch.delenv(name)
            for name, value in self.environment(**env).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["halflife", *map(str, arguments)])
            code: Any = 0
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    main()
                except SystemExit as ended:
                    code = ended.code
        out.flush()
        return Ended(code or 0, out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]

    @contextlib.contextmanager
    def database(self) -> Iterator[Database]:
        """Its database, opened here."""
        opened = Database(f"sqlite:///{self.path / 'halflife.db'}")
        try:
            yield opened
        finally:
            opened.close()

    def contents(self) -> dict[str, int]:
        """Rows of each table; empty where there is no database yet."""
        if not (self.path / "halflife.db").exists():
            return {}
        with self.database() as database, database.engine.connect() as connection:
            return {
                table: connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()  # noqa: S608
                for table in Base.metadata.tables
            }

    def processes(self) -> list[int]:
        """Every process that was started with this home in its environment."""
        mark = f"HALFLIFE_HOME={self.path}\0".encode()
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdecimal():
                with contextlib.suppress(OSError):
                    if mark in (process / "environ").read_bytes() + b"\0":
                        found.append(int(process.name))
        return found


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Ended]:
    """A home with the starter problems, and what their import printed. Tests copy it."""
    home = Home(tmp_path_factory.mktemp("imported") / "home")
    ended = home.run("problems", "import", "--builtin", "starter", "--json")
    home.call("models", "list")  # offers the baseline
    return home, ended


@pytest.fixture
def home(imported: tuple[Home, Ended], tmp_path: Path) -> Home:
    """A home of this test's own, with the starter problems."""
    copy = tmp_path / "home"
    shutil.copytree(imported[0].path, copy)
    return Home(copy)


@pytest.fixture
def bare_home(tmp_path: Path) -> Home:
    """A home that is not there yet."""
    return Home(tmp_path / "home")


@pytest.fixture
def leaves_no_trace(home: Home) -> Iterator[Callable[[], None]]:
    """Checks at the end that the database holds what it held before."""
    before = home.contents()

    def check() -> None:
        assert home.contents() == before

    yield check
    check()

"""A memory cgroup for each execution, where this process may create one (root, or a delegated subtree).

Both hierarchies: version 2 (one tree, `memory.max`) and version 1 (a memory tree of its own, `memory.limit_in_bytes`).
"""

import contextlib
import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "halflife-"


@dataclass(frozen=True)
class Names:
    """What the files of a hierarchy are called."""

    limit: str
    swap_limit: str
    swap_includes_memory: bool
    peak: str
    events: str


_V1 = Names(
    "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", True, "memory.max_usage_in_bytes", "memory.oom_control"
)
_V2 = Names("memory.max", "memory.swap.max", False, "memory.peak", "memory.events")


class Leaf:
    """One memory cgroup. `descriptors` are: where a process writes 0 to join, and the file counting OOM kills."""

    def __init__(self, path: Path, names: Names, memory_bytes: int) -> None:
        path.mkdir()
        self._path = path
        self._names = names
        self.descriptors: list[int] = []
        try:
            (path / names.limit).write_text(str(memory_bytes))
            with contextlib.suppress(OSError):
                # Absent where the kernel does not account for swap.
                (path / names.swap_limit).write_text(str(memory_bytes) if names.swap_includes_memory else "0")
            with contextlib.suppress(OSError):
                (path / "memory.oom.group").write_text("1")
            self.descriptors.append(os.open(path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            self.descriptors.append(os.open(path / names.events, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            self.remove()
            raise

    def peak_kb(self) -> int | None:
        """Most memory it ever held, in KiB; None where the kernel does not tell (version 2 before Linux 5.19)."""
        try:
            return int((self._path / self._names.peak).read_text()) // 1024
        except OSError:
            return None

    def remove(self) -> None:
        """Close the descriptors and remove the cgroup. Its processes must have ended."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []
        with contextlib.suppress(OSError):
            self._path.rmdir()


class MemoryCgroups:
    """Creates leaves below one place."""

    def __init__(self, place: Path, names: Names) -> None:
        self._place = place
        self._names = names
        self._numbers = itertools.count()

    def leaf(self, memory_bytes: int) -> Leaf:
        """A new leaf with this limit. Raises OSError."""
        name = f"{_PREFIX}{os.getpid()}-{id(self):x}-{next(self._numbers)}"
        return Leaf(self._place / name, self._names, memory_bytes)

    def works(self) -> bool:
        """Whether a leaf can be created, limited and joined."""
        try:
            leaf = self.leaf(64 * 1024 * 1024)
        except OSError:
            return False
        try:
            joined = subprocess.run(
                ["/bin/sh", "-c", f"echo 0 >&{leaf.descriptors[0]}"],
                pass_fds=leaf.descriptors,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            return joined.returncode == 0
        except OSError:
            return False
        finally:
            leaf.remove()

    def remove_orphans(self) -> None:
        """Remove what processes that no longer live have left behind."""
        for path in self._place.glob(f"{_PREFIX}*-*-*"):
            owner = path.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                with contextlib.suppress(OSError):
                    path.rmdir()


def find_memory_cgroups() -> MemoryCgroups | None:
    """The nearest place where leaves work: below this process's own cgroup, else further up. None if nowhere."""
    for place, names in _places():
        if not (place / "cgroup.procs").exists():
            continue
        cgroups = MemoryCgroups(place, names)
        if os.access(place, os.W_OK) and cgroups.works():
            cgroups.remove_orphans()
            return cgroups
    return None


def _places() -> list[tuple[Path, Names]]:
    try:
        memberships = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        return []
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in memberships)}
    places: list[tuple[Path, Names]] = []
    for fields in mounts:
        root, mount_point = fields[3], Path(fields[4])
        separator = fields.index("-")
        kind, options = fields[separator + 1], fields[separator + 3].split(",")
        if kind == "cgroup" and "memory" in options:
            path = next((path for names, path in own.items() if "memory" in names.split(",")), None)
            names = _V1
        elif kind == "cgroup2":
            path, names = own.get(""), _V2
        else:
            continue
        if path is None:
            continue
        # In a container the mount's root may be the container's own cgroup.
        below = path.removeprefix(root) if root != "/" else path
        here = mount_point / below.lstrip("/")
        # Version 2 lets no cgroup hold both processes and limited children, so the place may be further up.
        candidates = [here, *(up for up in here.parents if up.is_relative_to(mount_point))]
        places += [(one, names) for one in (candidates[:1] if names is _V1 else candidates)]
    return places

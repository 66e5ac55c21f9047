"""The locks fit pyproject.toml, and no file says where packages are downloaded from."""

import re
import subprocess
import tomllib
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.config import ROOT

# In pieces, so that this file does not name them either.
REGISTRIES = [b"pypi" + b".org", b"python" + b"hosted", b"npm" + b"js.org", b"crates" + b".io", b"docker" + b".io"]


def locked(kind: str) -> dict[str, str]:
    """Version (and marker) of each package in a lock."""
    text = (ROOT / "requirements" / f"{kind}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9.-]+)(?:\[[a-z,]+\])?==(.+?) \\$", text, re.MULTILINE))


def test_the_development_lock_holds_the_runtime_lock():
    runtime = locked("runtime")
    assert len(runtime) > 20
    assert runtime.items() <= locked("dev").items()


def test_the_locks_satisfy_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    runtime = project["project"]["dependencies"] + groups["build"]
    dev = [*runtime, *groups["dev"], *chain.from_iterable(project["project"]["optional-dependencies"].values())]
    for kind, wanted in (("runtime", runtime), ("dev", dev)):
        versions = locked(kind)
        for requirement in map(Requirement, wanted):
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)].split(" ;")[0])


def test_no_tracked_file_names_a_package_registry():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    files = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    naming = {
        str(path.relative_to(ROOT))
        for path in files
        if path.is_file() and any(registry in path.read_bytes() for registry in REGISTRIES)
    }
    assert naming == set()

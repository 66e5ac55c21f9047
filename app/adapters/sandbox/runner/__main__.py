"""Entry of the runner: `python3 __main__.py DESCRIPTOR isolated|bare`, with the socket to the host as DESCRIPTOR."""

import os
import sys
import types


def _declare_packages(root: str) -> None:
    """Let `app.…` be imported from `root` without running any __init__ on the way, nor leaving `root` on the path."""
    for name in ("app", "app.domain", "app.adapters", "app.adapters.sandbox"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(root, *name.split("."))]
        sys.modules[name] = package


if __name__ == "__main__":
    _declare_packages(os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4)))
    from app.adapters.sandbox.runner.server import main

    main(int(sys.argv[1]), isolated=sys.argv[2] == "isolated")

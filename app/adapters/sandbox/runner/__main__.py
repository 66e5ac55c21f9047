"""Entry of the runner.

`python3 __main__.py DESCRIPTOR isolated|bare`, with the socket to the host as DESCRIPTOR, or
`python3 __main__.py DIRECTORY slot GROUP EXECUTIONS`, to listen in DIRECTORY for a host of the group with that number.
"""

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
    from app.adapters.sandbox.runner import homes, server, slot

    address, mode = sys.argv[1:3]
    if mode == "slot":
        slot.main(address, int(sys.argv[3]), int(sys.argv[4]))
    else:
        server.main(int(address), homes.HOMES[mode]())

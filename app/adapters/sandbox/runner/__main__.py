"""Entry of the runner: `python3 __main__.py DESCRIPTOR isolated|bare`, with the socket to the host as DESCRIPTOR."""

import os
import sys

if __name__ == "__main__":
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    sys.path.insert(0, root)
    from app.adapters.sandbox.runner.server import main

    # A program must not find this package, nor anything that lies beside it.
    sys.path.remove(root)
    main(int(sys.argv[1]), isolated=sys.argv[2] == "isolated")

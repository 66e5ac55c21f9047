"""Entry of the runner: `python3 __main__.py DESCRIPTOR isolated|bare`, with the socket to the host as DESCRIPTOR."""

import sys
from pathlib import Path

if __name__ == "__main__":
    root = str(Path(__file__).resolve().parents[4])
    sys.path.insert(0, root)
    from app.adapters.sandbox.runner.server import main

    # A program must not find this package, nor anything that lies beside it.
    sys.path.remove(root)
    main(int(sys.argv[1]), isolated=sys.argv[2] == "isolated")

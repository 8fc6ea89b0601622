"""The program `augur`: ``python -m augur generate --help``."""
from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn


def program() -> pathlib.Path:
    """The program's file."""
    return pathlib.Path(__file__).parent / "bin/augur"


def main() -> NoReturn:
    """Becomes the program of this package, with the same arguments; signals and the exit code are its own."""
    if not program().exists():
        sys.exit(f"augur: this package has no program ({program()}); install it with `pip install .` from a clone")
    os.execv(program(), ["augur", *sys.argv[1:]])


if __name__ == "__main__":
    main()

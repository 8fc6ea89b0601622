#!/usr/bin/env python3
"""Brings the source archive of a package from PyPI and prints its path. scripts/fetched.txt has its version and hash.

usage: scripts/fetch.py PACKAGE FOLDER

Ends with 1 where the archive has another hash, 2 where the table has no such package, and 3 where it can't be had (no
network, no pip). pip looks at the hash before it does anything with an archive; then it asks it for its metadata, with
the archive's own build tools, in isolation.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PINS = pathlib.Path(__file__).with_name("fetched.txt")
PIN = re.compile(r"^([\w.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$")
MISMATCH = re.compile(r"Expected sha256 (\w+)\s+Got\s+(\w+)")


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def pin_of(package):
    """The line of the table."""
    for line in PINS.read_text(encoding="ascii").splitlines():
        if (found := PIN.match(line)) and found[1] == package:
            return line
    raise Failure(2, f"{PINS.name} has no {package} with a version and a hash")


def fetch(package, folder):
    """The archive's path in the folder, which is made."""
    pin = pin_of(package)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "pin.txt").write_text(pin + "\n", encoding="ascii")
        pip = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary",
             package, "--require-hashes", "-d", scratch / "got", "-r", scratch / "pin.txt"],
            capture_output=True, text=True, check=False)
        archives = [*scratch.glob("got/*")]
        if pip.returncode == 0 and len(archives) == 1:
            return archives[0].replace(folder / archives[0].name)
        name = "-".join(PIN.match(pin).group(1, 2))
        if found := MISMATCH.search(pip.stdout + pip.stderr):
            raise Failure(1, f"the archive of {name}: expected SHA-256 {found[1]}, found {found[2]}")
        last = (pip.stderr.strip() or "pip says nothing").splitlines()[-1]
        raise Failure(3, f"the archive of {name} could not be had from PyPI: {last}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(fetch(*sys.argv[1:]))
    except Failure as failure:
        print(f"fetch: {failure}", file=sys.stderr)
        sys.exit(failure.code)


if __name__ == "__main__":
    main()

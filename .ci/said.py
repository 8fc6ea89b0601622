#!/usr/bin/env python3
"""What a failed check said, out of all that it printed: the first errors of compilers, linkers and CMake, the reports of
sanitizers, what failed tests of ctest, pytest and unittest printed and which they are; the last lines, where there is
nothing of these.

usage: .ci/said.py LOG                what to tell, at most 3,000 characters of a kind
       .ci/said.py --failed N LOG     the names of N tests that ctest says have failed, a line each"""
import pathlib
import re
import sys
from typing import Iterator, Optional, Sequence

MOST = 3000  # characters of a kind
NEVER = r"(?!)"
# What begins something worth telling, how many lines of it are told at most, and before which it ends.
KINDS = (
    (r"error:|undefined reference|multiple definition|^CMake Error|No such file or directory$|No space left", 4, r"^\[\d+/\d+\]"),
    (r"^==\d+==ERROR: |runtime error: |^WARNING: ThreadSanitizer|^terminate called|Assertion .* failed", 16, r"^SUMMARY: "),
    (r"^SUMMARY: |^input, base64: .{,2800}$", 1, NEVER),  # of sanitizers; of fuzzers, where it is short
    (r"^ *\d+/\d+ Test .*\*\*\*(?!Skipped)", 60, r"^ *(Start +\d+:|\d+/\d+ Test |\d+% tests passed)"),
    (r"^E   ", 1, NEVER),  # of pytest
    (r"^(FAILED|ERROR) \S+\.py", 1, NEVER),
    (r"^(FAIL|ERROR): \w+ \(", 1, NEVER),  # of unittest
    (r"^Traceback ", 12, r"^$"),
)


def passages(lines: Sequence[str], begin: str, length: int, end: str) -> Iterator[str]:
    """Each passage, once: from a line that begins one, up to one that ends it or begins another."""
    seen = set()
    at = 0
    while at < len(lines):
        first, at = at, at + 1
        if not re.search(begin, lines[first]):
            continue
        while at < min(len(lines), first + length) and not re.search(f"{begin}|{end}", lines[at]):
            at += 1
        passage = "\n".join(lines[first:at]).rstrip()
        if passage not in seen:
            yield passage
        seen.add(passage)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rsplit("\n", 1)[0] + "\n[…]"


def told(log: str) -> str:
    lines = log.splitlines()
    kinds = ["\n".join(passages(lines, *kind)) for kind in KINDS]
    return "\n".join(cut(kind, MOST) for kind in kinds if kind) or "\n".join(lines[-15:])


def failed(log: str, count: int) -> list[str]:
    """As many as ctest counts, also where it names fewer."""
    names = []
    section: Optional[str] = None
    for line in log.splitlines():
        if line.startswith("The following tests FAILED:"):
            section = line
        elif section and (name := re.match(r"\s*\d+ - (.*)", line)):
            names.append(name[1])
        elif section and not line.strip():
            section = None
    return (names + ["a test that is not named"] * count)[:count]


def main(arguments: list[str]) -> None:
    match arguments:
        case ["--failed", count, path]:
            print("\n".join(failed(pathlib.Path(path).read_text(errors="replace"), int(count))))
        case [path]:
            print(told(pathlib.Path(path).read_text(errors="replace")))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""Checks that every relative link in the repository's Markdown files leads to a file that exists."""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

root = pathlib.Path(__file__).resolve().parent.parent
listing = subprocess.run(["git", "ls-files", "*.md"], cwd=root, check=True, capture_output=True, text=True)
checked = 0
broken = []
for name in listing.stdout.split():
    page = root / name
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:|#", target):
            continue
        checked += 1
        if not (page.parent / target.split("#")[0]).exists():
            broken.append(f"{name}: {target} does not exist")
print("\n".join(broken) or f"{checked} links lead somewhere", file=sys.stderr if broken else sys.stdout)
sys.exit(bool(broken))

#!/usr/bin/env python3
"""Checks that code in the Markdown pages is the text of the files it is said to be.

A line `<!-- text of PATH -->` stands before a code block that is that file's whole text (from the repository's root).
Where one file of a folder is shown, all of its files are: a recipe leaves nothing out.

usage: scripts/check_snippets.py [--write]     --write: puts the files' texts into the pages instead
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SNIPPET = re.compile(r"^<!-- text of (\S+) -->\n```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

write = sys.argv[1:] == ["--write"]
if sys.argv[1:] and not write:
    sys.exit(__doc__)
listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                         capture_output=True, text=True)
problems = []
shown = []
for name in listing.stdout.split():
    page = ROOT / name
    if not page.exists():
        continue
    text = page.read_text(encoding="utf-8")

    def check(match):
        shown.append(match.group(1))
        file = ROOT / match.group(1)
        if not file.exists():
            problems.append(f"{name}: {match.group(1)} does not exist")
            return match.group(0)
        wanted = file.read_text(encoding="utf-8")
        if wanted != match.group(3) and not write:
            problems.append(f"{name}: not the text of {match.group(1)}: run scripts/check_snippets.py --write")
        return f"<!-- text of {match.group(1)} -->\n```{match.group(2)}\n{wanted}```"

    new = SNIPPET.sub(check, text)
    if text.count("<!-- text of ") != len(SNIPPET.findall(text)):
        problems.append(f"{name}: a line <!-- text of PATH --> without a code block behind it")
    if write and new != text:
        page.write_text(new, encoding="utf-8")
if not shown:
    problems.append("no page shows a file")
for folder in sorted({pathlib.Path(name).parent for name in shown}):
    for file in sorted((ROOT / folder).iterdir()):
        if str(folder / file.name) not in shown:
            problems.append(f"{folder / file.name}: no page shows it")
print("\n".join(problems) or f"{len(shown)} code blocks are the text of their files",
      file=sys.stderr if problems else sys.stdout)
sys.exit(bool(problems))

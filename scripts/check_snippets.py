#!/usr/bin/env python3
"""Checks that code in the Markdown pages is the text of the files it is said to be, and tables what the code registers.

A line `<!-- text of PATH -->` stands before a code block that is that file's whole text (from the repository's root).
Where one file of a folder is shown, all of its files are: a recipe leaves nothing out. A line `<!-- table of PATH -->`
stands before the table of a list of types (src/draft/drafter_types.inc, src/policy/policy_types.inc): what is registered
is in it. README's "13 drafters, 11 policies" are as many as these lists have.

usage: scripts/check_snippets.py [--write]     --write: puts texts and tables into the pages instead
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = re.compile(r"^<!-- table of (\S+) -->\n((?:\|.*\n)*)", re.MULTILINE)
TYPE = re.compile(r"^AUGUR_\w+\((\w+),\s(.*?)\)$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'\.(\w+) = ("[^"]*"|\w+)')
HEADINGS = {"drafter": ("--spec-type", "what it proposes"), "policy": ("--spec-policy", "what it drafts")}
COUNTS = re.compile(r"\b\d+ drafters, \d+ policies\b")
LISTS = ("src/draft/drafter_types.inc", "src/policy/policy_types.inc")
SNIPPET = re.compile(r"^<!-- text of (\S+) -->\n```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def table_of(path):
    """The rows of a list of types: name, what it does, and the file that has its function."""
    kind = path.name.removesuffix("_types.inc")
    sources = {file: file.read_text(encoding="utf-8") for file in sorted(path.parent.rglob("*.cpp"))}
    flag, what = HEADINGS[kind]
    rows = [f"| `{flag}` | {what} | file |", "| --- | --- | --- |"]
    for function, fields in TYPE.findall(path.read_text(encoding="utf-8")):
        named = {key: value.strip('"') for key, value in FIELD.findall(fields)}
        file = next((file for file, text in sources.items() if re.search(rf"> {function}\(", text)), None)
        if file is None or not named.get("summary"):
            problems.append(f"{path.relative_to(ROOT)}: {function}: no function of that name, or no summary")
            continue
        rows.append(f"| `{named['name']}` | {named['summary']} | [{file.stem}]({file.relative_to(ROOT)}) |")
    return "".join(row + "\n" for row in rows)


def counts():
    drafters, policies = (len(TYPE.findall((ROOT / path).read_text(encoding="utf-8"))) for path in LISTS)
    return f"{drafters} drafters, {policies} policies"


write = sys.argv[1:] == ["--write"]
if sys.argv[1:] and not write:
    sys.exit(__doc__)
listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                         capture_output=True, text=True)
problems = []
shown = []
tables = []
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

    def check_table(match):
        tables.append(match.group(1))
        wanted = table_of(ROOT / match.group(1))
        if wanted != match.group(2) and not write:
            problems.append(f"{name}: not the table of {match.group(1)}: run scripts/check_snippets.py --write")
        return f"<!-- table of {match.group(1)} -->\n{wanted}"

    new = TABLE.sub(check_table, SNIPPET.sub(check, text))
    if name == "README.md":
        said = COUNTS.findall(text)
        if said != [counts()] and not (write and said):
            problems.append(f"{name}: says {said}, not {counts()}: run scripts/check_snippets.py --write")
        new = COUNTS.sub(counts(), new)
    if text.count("<!-- text of ") != len(SNIPPET.findall(text)):
        problems.append(f"{name}: a line <!-- text of PATH --> without a code block behind it")
    if write and new != text:
        page.write_text(new, encoding="utf-8")
if not shown or not tables:
    problems.append("no page shows a file, or none a table")
for folder in sorted({pathlib.Path(name).parent for name in shown}):
    for file in sorted((ROOT / folder).iterdir()):
        if str(folder / file.name) not in shown:
            problems.append(f"{folder / file.name}: no page shows it")
print("\n".join(problems) or f"{len(shown)} code blocks and {len(tables)} tables are what their files say",
      file=sys.stderr if problems else sys.stdout)
sys.exit(bool(problems))

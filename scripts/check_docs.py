#!/usr/bin/env python3
"""Checks what the Markdown pages promise.

Links lead to files and headings that exist. Pages of docs/ have at most 200 lines of 120 characters, and no dates;
elsewhere prose keeps to 120 characters. Paths in code spans and code blocks exist. Functions that the tour names stand
in the files it names. Flags of `augur` commands are in that command's --help, where the programs are built. The runbook
says of every alert in deploy/ what it means, the page of policies has every setting that a policy reads and no other,
that of the environment every variable that code reads, and the glossary every column of `augur bench suite` and every
setting and figure of the chat page.

usage: scripts/check_docs.py [PROGRAM]     PROGRAM: default build/release/augur
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/augur").resolve()
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
DIARY = re.compile(r"\bsessions?\b", re.IGNORECASE)  # but `Session`, in code, is a type
TOPS = "src|lab|include|tests|docs|results|models|scripts|examples|prompts|cmake"
# Not of names with a placeholder in them (NAME, …), and not of what a recipe asks for: `path` (new).
PATH = re.compile(rf"(?<![\w./$])((?:{TOPS})/[\w./-]*)(?![\w./*{{<$-]|…)(?!` \(new\))")
PLACEHOLDER = re.compile(r"/(?:[A-Z]{2,}|\.\.\.)")
COMMAND = re.compile(r"(?:\baugur|\$augur)((?: [a-z][a-z0-9-]*){1,2})\b(.*)")
FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]+)")

problems = []


def pages():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    return [name for name in listing.stdout.split("\n") if name and (ROOT / name).exists()]


@functools.cache
def anchors(path):
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(name, text):
    links = [target for target in LINK.findall(FENCE.sub("", text)) if not re.match(r"[a-z]+:", target)]
    for target in links:
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists():
            problems.append(f"{name}: {target} does not exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.resolve()):
            problems.append(f"{name}: {target}: there is no such heading")
    return len(links)


def check_shape(name, text):
    lines = text.split("\n")
    if name.startswith("docs/"):
        if len(lines) - 1 > 200:
            problems.append(f"{name}: {len(lines) - 1} lines, expected at most 200")
        for number, line in enumerate(lines, 1):
            unlinked = re.sub(r"\]\([^)]*\)", "]", line)
            if found := DATE.search(unlinked) or DIARY.search(re.sub(r"`[^`]*`", "", unlinked)):
                problems.append(f"{name}:{number}: {found.group(0)}: pages have no dates and no history")
    code = False
    for number, line in enumerate(lines, 1):
        code ^= line.startswith("```")
        if len(line) > 120 and (name.startswith("docs/") or not (code or line.startswith("|"))):
            problems.append(f"{name}:{number}: {len(line)} characters, expected at most 120")


def check_paths(name, text):
    code = "\n".join(FENCE.findall(text))
    spans = re.findall(r"`[^`\n]+`(?: \(new\))?", FENCE.sub("", text))
    for path in sorted(set(PATH.findall("\n".join([code, *spans])))):
        if not PLACEHOLDER.search(path) and not (ROOT / path.rstrip(".")).exists():
            problems.append(f"{name}: {path} does not exist")


def check_functions(name, text):
    """`name()` below a heading with a file in it stands in that file or in another one that the section names."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        if not re.search(r"`[\w/]+\.(?:cpp|h)`", heading):
            continue
        files = [ROOT / span for span in SPAN.findall(section) if re.fullmatch(r"[\w./-]+\.(?:cpp|h)", span)]
        sources = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
        for function in re.findall(r"`(?:\w+::)*(\w+)\(\)`", body):
            if not re.search(rf"\b{function}\b", sources):
                problems.append(f"{name}: {heading.strip()}: there is no {function}()")


@functools.cache
def help_of(words):
    """What `augur WORDS --help` says; empty where that program is not built."""
    result = subprocess.run([str(PROGRAM), *words, "--help"], capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else ""


def check_flags(name, text):
    # A command may go on in the next lines.
    code = re.sub(r"\\\n\s*", " ", "\n".join(FENCE.findall(text)))
    code = re.sub(r"\s#\s.*", "", code)
    for piece in code.split("\n") + SPAN.findall(FENCE.sub("", text)):
        if command := COMMAND.search(piece):
            words = tuple(command.group(1).split())
            known, shown = help_of(words), "augur " + " ".join(words)
            flags = FLAG.findall(command.group(2))
        elif piece.startswith("--spec-"):
            known, shown = help_of(("serve",)), "augur serve"
            flags = FLAG.findall(piece)
        else:
            continue
        for flag in flags:
            if known and not re.search(rf"(?<![\w-]){flag}(?![\w-])", known):
                problems.append(f"{name}: {shown} has no {flag}")


def check_alerts():
    rows = set(re.findall(r"^\| (\w+) \|", (ROOT / "docs/runbook.md").read_text(encoding="utf-8"), re.MULTILINE))
    for file in sorted((ROOT / "deploy").rglob("*.yml")):
        for alert in re.findall(r"^ *- alert: (\w+)$", file.read_text(encoding="utf-8"), re.MULTILINE):
            if alert not in rows:
                problems.append(f"docs/runbook.md: nothing on {alert} of {file.relative_to(ROOT)}")


def source(path):
    return (ROOT / path).read_text(encoding="utf-8")


def settings_read(text):
    """The settings that a policy's source reads, the shared pieces included that it calls."""
    keys = set(re.findall(r'\.(?:number|integer|flag|text|limit)\([^;"]*?"([a-z0-9-]+)"', text))
    if '"gamma" + std::to_string' in text:
        keys = keys - {"gamma"} | {"gamma1", "gamma2", "gamma3"}
    if "source.part()" in text:
        keys.add("model")
    if "early_stop_model(source" in text:
        keys |= settings_read(source("src/policy/early_stop_policy.cpp"))
    return keys


def check_policies():
    page = "docs/policies.md"
    sections = dict(re.findall(r"^## `([\w-]+)`\n(.*?)(?=^## |\Z)", source(page), re.MULTILINE | re.DOTALL))
    listed = re.findall(r'AUGUR_POLICY\(\w+, \.name = "(\w+)",\s(.*?)\.summary', source("src/policy/policy_types.inc"), re.DOTALL)
    for name in sections.keys() - {name for name, _ in listed}:
        problems.append(f"{page}: there is no policy {name}")
    for name, fields in listed:
        file = "eagle2_policy" if name == "eagle2" else "static_tree_policy" if name == "static" else f"{name}_policy"
        code = source(f"src/policy/{file}.cpp")
        limits = re.search(r'\.limits = "([^"]*)"', fields)
        wanted = {re.split("[?!]", word)[0] for word in limits.group(1).split()} if limits else set()
        renamed = re.findall(r'limit\(&SpeculationPlan::tree_(\w+), "([a-z-]+)"', code)
        wanted -= {limit for limit, _ in renamed}
        if name != "auto":  # which reads names of parts in order to refuse them
            wanted |= settings_read(code)
        rows = re.findall(r"^\|(.*?)\|", sections.get(name, ""), re.MULTILINE)
        shown = {key for row in rows for key in SPAN.findall(row)}
        for key in sorted(wanted - shown):
            problems.append(f"{page}: {name}: nothing on the setting {key}")
        for key in sorted(shown - wanted):
            problems.append(f"{page}: {name} does not read {key}")


def check_environment():
    page = "docs/environment.md"
    said = {name for span in SPAN.findall(source(page)) for name in re.findall(r"\b[A-Z][A-Z0-9_]+\b", span)}
    listing = subprocess.run(["git", "ls-files", "*.cpp", "*.h", "*.sh", "*.py", ".ci", "deploy", ":!*.xz"], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    words = {"AUGUR_", "CONFIG", "FILE", "TOKEN", "TRUE"}  # in such sources, but no variables
    for name in listing.stdout.split():
        if name == "scripts/check_docs.py" or not (ROOT / name).is_file():
            continue
        text = source(name)
        read = set(re.findall(r'environ(?:\.get\(|\[|\.setdefault\()"([A-Z][A-Z0-9_]+)"', text)) - {"PATH"}
        read |= set(re.findall(r"\$\{([A-Z][A-Z0-9_]+):?[-?+=]", text))
        if re.search(r"getenv|Environment&|\benviron\b", text) and name.endswith((".cpp", ".h")):
            read |= set(re.findall(r'"([A-Z][A-Z0-9_]{3,})"', text)) - words
        for variable in sorted(read - said):
            problems.append(f"{page}: nothing on {variable}, which {name} reads")


SHOWN = (  # a file, the part of it that names columns, settings or figures, and how each name stands in that part
    ("lab/suite/tables.cpp", r'"(\| method \|.*?)\\n', r"(.+)"),
    ("lab/suite/tables.cpp", r'title, "",(.*?)\);', r'"([^"]+)"'),
    ("lab/suite/report/tables.js", r"const columns = \[(.*?)\];", r'"([^"]*)"'),
    ("lab/suite/report/text.js", r"(.*)", r'\bfact\("([^"]+)"'),
    ("web/index.html", r'<aside id="settings"(.*?)</aside>', r"<label>([^<]+)<"),
    ("web/state.js", r"const rows = \[(.*?)\];", r'\["([^"]+)"'),
    ("web/rounds.js", r"figures\.show\(\[(.*?)\]\);", r'\[[^\n"]+, "([^"]+)", "'),
    ("web/answer_view.js", r"shown\.show\(\[(.*?)\], ending", r'[,:] "([^"]+)", means'),
)


def check_glossary():
    page = "docs/glossary.md"
    rows = re.findall(r"^\| ([^|]+?) \|", source(page), re.MULTILINE)
    terms = {term.strip("` ").lower() for row in rows for term in row.split(", ")}
    for path, part, name in SHOWN:
        found = re.search(part, re.sub(r'"\s*\n\s*"', "", source(path)), re.DOTALL)
        names = re.findall(name, found.group(1)) if found else []
        if not names:
            problems.append(f"{path}: {name} in {part} was not found (scripts/check_docs.py, SHOWN)")
        for term in {term.strip().lower() for text in names for term in re.split(r"[|,:()·]| / | ms a call", text)}:
            if term and term not in terms:
                problems.append(f"{page}: nothing on '{term}', which {path} shows")


def main():
    names = pages()
    links = 0
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        links += check_links(name, text)
        own = name in ("README.md", "CONTRIBUTING.md") or name.startswith("docs/")
        if own or name.startswith("results/"):
            check_shape(name, text)
        if own:
            check_paths(name, text)
            check_functions(name, text)
            if PROGRAM.exists():
                check_flags(name, text)
    check_alerts()
    check_policies()
    check_environment()
    check_glossary()
    print("\n".join(problems) or f"{len(names)} pages, {links} links: all as promised", file=sys.stderr if problems else sys.stdout)
    if not PROGRAM.exists():
        print(f"flags not checked: {PROGRAM} is not built", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())

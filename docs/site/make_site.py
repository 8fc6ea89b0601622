#!/usr/bin/env python3
"""Makes the site of the Markdown pages: build/site/index.html, which needs no server and no network.

Gathers README, CONTRIBUTING, SECURITY, docs/ and results/ in build/site-pages as they are, by links; gives every source
that they link to a page that shows it, and every folder one that lists it; runs Zensical on mkdocs.yml; then looks that
the site loads nothing from elsewhere and that its own links lead somewhere. Zensical and what it needs are installed
from docs/site/requirements.txt under build/ when that has changed.

usage: docs/site/make_site.py      exit status: 0, or 1 with what is wrong, or 77 where the packages cannot be had
"""
import hashlib
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/site-pages"
SITE = ROOT / "build/site"
VENV = ROOT / "build/site-venv"
REQUIREMENTS = ROOT / "docs/site/requirements.txt"
LINK = re.compile(r"\]\(([^)\s]+)\)")
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".inc": "cpp", ".py": "python", ".sh": "bash", ".yml": "yaml", ".yaml": "yaml",
             ".json": "json", ".conf": "nginx", ".service": "ini", ".env": "bash"}


def stop(status, message):
    print(f"make_site: {message}", file=sys.stderr)
    sys.exit(status)


def install():
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = VENV / "installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(VENV, ignore_errors=True)
    if subprocess.run([sys.executable, "-m", "venv", VENV], stdout=subprocess.DEVNULL, check=False).returncode:
        stop(77, "there is no python3-venv")
    done = subprocess.run([VENV / "bin/pip", "install", "-q", "--disable-pip-version-check", "--require-hashes",
                           "--no-deps", "-r", REQUIREMENTS], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "pip said nothing").split("\n")[-1]
        stop(1 if "DO NOT MATCH THE HASHES" in done.stderr else 77, f"Zensical cannot be installed from PyPI: {last}")
    stamp.write_text(wanted, encoding="utf-8")


def page(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def link(name, to=None):
    file = PAGES / (to or name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(ROOT / name)


def show(name, listed):
    """A page for a source or a folder that a page links to."""
    source = ROOT / name
    if source.is_dir():
        files = [file for file in listed if file.startswith(f"{name}/") and "/" not in file[len(name) + 1:]]
        for file in files:
            show(file, listed)
        rows = "".join(f"- [{file[len(name) + 1:]}]({file[len(name) + 1:]})\n" for file in files)
        page(PAGES / name / "index.md", f"# {name}\n\n{rows}")
    elif source.suffix == ".md":
        if not (PAGES / name).exists():
            link(name)
    elif not (PAGES / f"{name}.md").exists():
        link(name)
        language = LANGUAGES.get(source.suffix, "text")
        page(PAGES / f"{name}.md", f'# {name}\n\n````` {language}\n--8<-- "{name}"\n`````\n')


def gather():
    shutil.rmtree(PAGES, ignore_errors=True)
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                             text=True)
    listed = [name for name in listing.stdout.split("\n") if name and (ROOT / name).is_file()]
    pages = [name for name in listed if name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")
             or re.match(r"(docs|results)/.*\.md$", name)]
    for name in listed:
        if name in pages or re.match(r"docs/.*\.(svg|webp|gif|png|css)$", name):
            link(name)
    link("docs/site/frame_worker.js", "docs/site/iframe-worker.js")
    named = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [name for name in pages if not name.startswith("results/") and f": {name}\n" not in named]
    if missing:
        stop(1, f"mkdocs.yml: nav has no {', '.join(missing)}")
    while pages:
        name = pages.pop()
        for target in LINK.findall((ROOT / name).read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:|#", target):
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(name), target.partition("#")[0]))
            if not (PAGES / path).is_file() and (ROOT / path).exists():
                show(path, listed)
                if path.endswith(".md"):
                    pages.append(path)


class Loads(html.parser.HTMLParser):
    """What a page loads, and where it links to."""

    def __init__(self):
        super().__init__()
        self.loads, self.links, self.ids = [], [], set()

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if "id" in named:
            self.ids.add(named["id"])
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        elif tag == "link" and named.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(named.get("href") or "")
        elif named.get("src"):
            self.loads.append(named["src"])


def look():
    """Pages load nothing from elsewhere, and links within the site have an end."""
    problems, read = [], {}
    for file in sorted(SITE.rglob("*.html")):
        read[file] = Loads()
        read[file].feed(file.read_text(encoding="utf-8"))
    for file, found in read.items():
        name = file.relative_to(SITE)
        if name.name == "404.html":  # its addresses begin at the server's root
            continue
        for target in found.loads:
            if re.match(r"(?:[a-z]+:)?//", target):
                problems.append(f"{name}: loads {target}")
        for target in found.loads + found.links:
            if re.match(r"[a-z]+:|//", target):
                continue
            path, _, anchor = target.partition("#")
            end = pathlib.Path(os.path.normpath(file.parent / urllib.parse.unquote(path.partition("?")[0]))) if path else file
            if not end.is_file():
                problems.append(f"{name}: {target} does not exist")
            elif anchor and end in read and urllib.parse.unquote(anchor) not in read[end].ids | {"__skip"}:
                problems.append(f"{name}: {target}: there is no such place")
    for file in sorted(SITE.rglob("*.css")):
        for target in re.findall(r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)", file.read_text(encoding="utf-8")):
            problems.append(f"{file.relative_to(SITE)}: loads {target}")
    if not read:
        problems.append("no page was made")
    return len(read), problems


def main():
    install()
    gather()
    shutil.rmtree(SITE, ignore_errors=True)
    where = {**os.environ, "PYTHONPATH": str(ROOT / "docs/site"), "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([VENV / "bin/zensical", "build", "--clean", "--strict", "-f", "mkdocs.yml"], cwd=ROOT, env=where,
                          capture_output=True, text=True, check=False)
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
    if done.returncode or "Warning" in said:
        stop(1, f"Zensical has complaints:\n{said.partition('Traceback')[0].strip()}")
    count, problems = look()
    if problems:
        stop(1, "\n".join(problems))
    print(f"{count} pages: {SITE.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    main()

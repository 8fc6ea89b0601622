"""A Python-Markdown extension: links out of the pages lead to where the site shows the linked file.

Pages link to sources (`../src/draft/ngram_drafter.cpp`) and folders (`examples/embed`) as the repository has them.
The site shows a source as a page of its own name and `.html`, and a folder by its `index.html`; make_site.py puts them
there.
"""
import pathlib
import posixpath
import re
import urllib.parse

from markdown import Extension
from markdown.treeprocessors import Treeprocessor

PAGES = pathlib.Path(__file__).resolve().parents[2] / "build/site-pages"


class Links(Treeprocessor):
    def __init__(self, md, page):
        super().__init__(md)
        self.page = page

    def run(self, root):
        for link in root.iter("a"):
            target = link.get("href", "")
            if re.match(r"[a-z]+:|#|/|$", target):
                continue
            path, hash_, anchor = target.partition("#")
            file = PAGES / posixpath.normpath(posixpath.join(posixpath.dirname(self.page), urllib.parse.unquote(path)))
            if (file / "index.md").is_file():
                path = path.rstrip("/") + "/index.html"
            elif file.with_name(f"{file.name}.md").is_file():
                path += ".html"
            link.set("href", path + hash_ + anchor)


class LinksExtension(Extension):
    def extendMarkdown(self, md):
        from zensical.extensions.context import ContextPreprocessor  # only where Zensical renders
        page = ContextPreprocessor.from_markdown(md).page
        md.treeprocessors.register(Links(md, page.path), "augur-links", 0)


def makeExtension(**kwargs):
    return LinksExtension(**kwargs)

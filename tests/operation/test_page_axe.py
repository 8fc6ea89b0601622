"""axe-core finds nothing that keeps people out of the chat page: in light, dark and forced colours, in a wide and in a
small window, in what the page can be in."""
import re
import tarfile

import pytest

from browser_page import Page
from scripted_server import Stream, error

CHAT = "/v1/chat/completions"
LOOKS = {"light": ("light", {}), "dark": ("dark", {}), "forced": ("light", {"forced-colors": "active"})}
MARKDOWN = """### A heading

Some *text* with a [link](https://example.org/), `code` and $x^2$.

- one
- two

| name | value |
| --- | --- |
| a | 1 |

> quoted

```c
int main(void) { return 0; }
```

$$\\frac{a}{b}$$
"""


@pytest.fixture(scope="module")
def axe(fetched):
    with tarfile.open(fetched("axe-playwright-python")) as archive:
        name = next(n for n in archive.getnames() if n.endswith("/axe.min.js"))
        return archive.extractfile(name).read().decode()


class Thinking(Stream):
    """The first token is thought."""

    def events(self):
        for i, event in enumerate(super().events()):
            if i == 0:
                delta = event["choices"][0]["delta"]
                delta["reasoning_content"] = delta.pop("content")
            yield event


class Looker:
    def __init__(self, page, axe):
        self.page, self.found = page, []
        page.run(axe)

    def look(self, state):
        """Keeps what axe finds now, and goes on."""
        found = self.page.driver.execute_async_script("""
            const done = arguments[0];
            axe.run(document, { resultTypes: ["violations", "passes"] }).then((r) => done([r.passes.length, r.violations.flatMap((v) =>
                v.nodes.map((n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary} ${n.html.slice(0, 200)}`))]),
                (error) => done([0, [String(error)]]));""")
        self.page.shot(state)
        assert found[0] or found[1], f"{state}: axe looked at nothing"
        self.found += [f"{state}: {violation}" for violation in found[1]]


def opened(page, selector, what):
    page.press(selector)
    page.until(lambda: page.one(what).is_displayed())


def answers(page, server, look):
    server.on(CHAT, Thinking(["I *think*."] + re.split("(?<= )", MARKDOWN)), error(500, "something broke"), Stream(["Fine. "] * 8))
    page.ask("first")
    page.until(lambda: page.count(".answer table") and page.count(".answer math") and page.idle())
    page.press(".thoughts summary")
    look("answer")
    opened(page, ".figures .figure", "#explanation")
    look("explanation")
    page.run("document.getElementById('explanation').hidePopover()")
    page.press("#view-tokens")
    page.until(lambda: page.count(".answer .token") > 20)
    look("tokens")
    opened(page, ".answer .tools button", "#rounds")
    look("rounds")
    page.press("#close-rounds")
    page.ask("second")
    page.until(lambda: page.count(".warn") and page.idle())
    look("error")
    page.run("document.getElementById('prompt').value = ''")
    page.press(".again")
    page.until(lambda: page.count(".pager") and page.idle())
    look("branches")
    page.ask("third", "#race")
    page.until(lambda: page.idle() and page.text(".verdict").startswith("identical"))
    look("race")


def dialogs(page, look):
    opened(page, "#open-settings", "#settings")
    page.set("temperature", "7")
    look("settings")
    page.set("temperature", "")
    opened(page, "#open-key", "#key-dialog")
    page.press("#key-form [type=submit]")
    look("key")
    page.press("#leave-key")
    page.press("#close-settings")
    if not page.one("#chats").is_displayed():
        opened(page, "#open-chats", "#chats")
        page.until(lambda: page.count(".chat-more"))
        look("chats")
    opened(page, ".chat-more", "#chat-dialog")
    look("chat")


@pytest.mark.parametrize("size", [(1280, 860), (320, 256)], ids=["wide", "small"])
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(request, need, server, axe, look, size):
    theme, features = LOOKS[look]
    with Page(server.url, need, size, theme, request.node.name, request.config.getoption("--screenshots")) as page:
        page.media({"prefers-reduced-motion": "reduce", **features})
        page.until(lambda: page.all("#state dd") and page.count("#drafter option") > 1)
        looker = Looker(page, axe)
        looker.look("welcome")
        answers(page, server, looker.look)
        dialogs(page, looker.look)
        page.check(not looker.found, "\n".join(looker.found))


def test_axe_sees_what_is_wrong(page, axe):
    """That it looks at all: a button without a name, and text that is too pale."""
    looker = Looker(page, axe)
    page.run("""
        const pale = Object.assign(document.createElement("p"), { textContent: "pale" });
        pale.style.color = "var(--line)";
        document.querySelector("main").append(document.createElement("button"), pale);""")
    looker.look("worse")
    kinds = {violation.split(": ")[1] for violation in looker.found}
    page.check({"button-name", "color-contrast"} <= kinds, kinds)


def test_headings_of_an_answer_leave_out_no_level(page, server):
    """Whatever the answer begins with: the page's own heading is above them all."""
    server.on(CHAT, Stream(re.split("(?<= )", "### a\n\n### b\n\n# c\n\n#### d\n\n## e\n\n### f\n\n# g\n\nand more\n\nand more\n")))
    page.ask("first")
    page.until(lambda: page.count(".answer h1") and page.idle())
    levels = page.run("return [...document.querySelectorAll('.answer [aria-level]')].map((n) => n.textContent + n.ariaLevel)")
    page.check(levels == ["a2", "b2", "c2", "d3", "e3", "f4", "g2"], levels)

"""Answers in Markdown on the chat page: CommonMark's examples, attacks, maths, reasoning, what is copied, and how much is
read again while an answer grows."""
import json
import random
import re
import tarfile
import threading

import pytest
from markdown_it import MarkdownIt

from browser_page import Page
from markdown_attacks import ATTACKS, HUGE
from scripted_server import Stream, holding

CHAT = "/v1/chat/completions"


class Thinking(Stream):
    """The first tokens are thought."""

    def __init__(self, thoughts, tokens, **how):
        super().__init__(thoughts + tokens, **how)
        self.thought = len(thoughts)

    def events(self):
        seen = 0
        for event in super().events():
            delta = event["choices"][0]["delta"] if event["choices"] else {}
            if "content" in delta:
                seen += 1
                if seen <= self.thought:
                    delta["reasoning_content"] = delta.pop("content")
            yield event


def pieces(text, size=7):
    return [text[i:i + size] for i in range(0, len(text), size)]


def answer(page, server, text, **how):
    """The text as an answer, whole."""
    server.on(CHAT, Stream(pieces(text), **how))
    turns = page.count(".answer")
    page.ask("Tell me.")
    page.until(lambda: page.count(".answer") == turns + 1 and page.idle())


# Draws texts as answers are drawn, without a server.
TOOLS = """
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI));
    addEventListener("load", () => import("/prose.js").then(({ Prose }) => {
        window.drawn = (chunks) => {
            const prose = new Prose();
            let text = "";
            for (const chunk of chunks) prose.draw(text += chunk, false);
            prose.draw(text, true);
            return prose.node;
        };
        // A tree as a text, without what the page adds to CommonMark's HTML.
        window.plain = (node) => {
            const inside = () => [...node.childNodes].map(window.plain).join("");
            if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/&/g, "&amp;").replace(/</g, "&lt;");
            if (node.nodeType !== Node.ELEMENT_NODE || node.matches(".code-head")) return "";
            if (node.matches("div")) return inside();
            const name = node.localName, kept = [];
            for (const key of ["class", "href", "start", "title"]) if (node.hasAttribute(key)) kept.push(` ${key}="${node.getAttribute(key).trim()}"`);
            if (name === "img") return node.closest("a") ? node.alt || "image" : `<a class="image" href="${node.getAttribute("src")}">${node.alt || "image"}</a>`;
            return `<${name}${kept.join("")}>${inside()}</${name}>`;
        };
        window.tight = (text) => text.replace(/ href="(?!https?:|mailto:)[^"]*"/gi, "").replace(/\\s+(?=<)|(?<=>)\\s+/g, " ").replace(/> </g, "><").trim();
        window.ready = true;
    }));"""


@pytest.fixture
def drawing(server, need, request):
    with Page(server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots"), before=TOOLS) as opened:
        opened.until(lambda: opened.run("return window.ready === true"))
        yield opened


@pytest.fixture(scope="module")
def examples(fetched):
    """(Markdown, HTML) of the specification; where raw HTML is in it, which is text here, as another implementation has it."""
    with tarfile.open(fetched("commonmark")) as archive:
        spec = next(archive.extractfile(m) for m in archive.getmembers() if m.name.endswith("/spec.txt")).read().decode()
    found = re.findall(r"^`{32} example\n(.*?)^\.\n(.*?)^`{32}$", spec.replace("→", "\t"), re.M | re.S)
    assert len(found) > 600
    textual, with_html = MarkdownIt("commonmark", {"html": False}), MarkdownIt("commonmark")

    def kinds(tokens):
        return {t.type for t in tokens} | {k for t in tokens if t.children for k in kinds(t.children)}

    return [(source, textual.render(source) if {"html_block", "html_inline"} & kinds(with_html.parse(source)) else html)
            for source, html in found]


def test_commonmarks_examples(drawing, examples):
    """Each is given whole, and in pieces."""
    found = drawing.run("""
        const parser = new DOMParser(), wrong = [];
        for (const [source, html] of arguments[0]) {
            const want = window.tight(window.plain(parser.parseFromString(`<div>${html}</div>`, "text/html").body.firstChild));
            for (const chunks of [[source], [...source]]) {
                const got = window.tight(window.plain(window.drawn(chunks)));
                if (got !== want) { wrong.push([source, want, got]); break; }
            }
        }
        return wrong;""", examples)
    drawing.check(not found, f"{len(found)} of {len(examples)} differ: {json.dumps(found[:6], indent=1)}")


def test_pieces_make_what_the_whole_makes(drawing, examples):
    """Examples behind each other, with tables, fences and maths, cut anywhere."""
    own = ["a | b\n:-|-:\n1 | 2\n", "$$\nx\n- y\n$$\n", "\\[ a\n= b \\]\n", "text\n$$\nno end\n- a\n", "#hash\n", "```js\nlet a;\n\n\nb\n```\n",
           "para\r\n\r\nnext\r\n", "| a |\n|-\nx\n|-|\n", "1. a\n\n   $x$\n2. b\n"]
    chance = random.Random(7)
    texts = []
    for _ in range(150):
        parts = [chance.choice(own) if chance.random() < 0.3 else chance.choice(examples)[0] for _ in range(6)]
        text = chance.choice(["\n", "", "\n\n"]).join(parts)
        cuts = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, 25)))
        texts.append([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])])
    found = drawing.run("""
        return arguments[0].filter((chunks) => window.plain(window.drawn(chunks)) !== window.plain(window.drawn([chunks.join("")])))""", texts)
    drawing.check(not found, f"{len(found)} differ, so {json.dumps(found[:2])}")


SAFE = """
    const tags = new Set(("a blockquote br button code details div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong summary table tbody td th thead tr ul "
        + "math maction menclose mfrac mi mn mo mover mpadded mphantom mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover mmultiscripts mprescripts none mlabeledtr").split(" "));
    const unsafe = (root) => [...root.querySelectorAll("*")].filter((n) => !tags.has(n.localName) || [...n.attributes].some((a) =>
        a.name.startsWith("on") || ["style", "id", "name", "src"].includes(a.name) || (a.name.includes("href") && !/^(https?|mailto):/i.test(a.value)))
        || (n.localName === "a" && n.href && (n.rel !== "noopener noreferrer" || n.target !== "_blank"))).map((n) => n.cloneNode(false).outerHTML);"""


def test_attacks_do_nothing(drawing, server):
    assert len(ATTACKS) >= 40
    # KaTeX is there when they are drawn.
    drawing.run("document.getElementById('log').append(window.drawn(['$x^2$']))")
    drawing.until(lambda: drawing.count("#log math"))
    found = drawing.run(SAFE + """
        const wrong = [];
        for (const attack of arguments[0]) for (const chunks of [[attack], attack.length < 500 ? [...attack] : [attack.slice(0, 99), attack.slice(99)]]) {
            const node = window.drawn(chunks);
            document.getElementById("log").append(node);
            if (unsafe(node).length > 0) wrong.push([attack, unsafe(node)]);
            if (!node.textContent.trim() && !node.querySelector("math, li, blockquote, hr, table, pre")) wrong.push([attack, "nothing is shown"]);
        }
        return wrong;""", ATTACKS)
    drawing.check(not found, json.dumps(found[:5], indent=1))
    for attack in (" \n\n".join(ATTACKS[:30]), " \n\n".join(ATTACKS[30:56])):
        answer(drawing, server, attack)
    drawing.run("for (const n of document.querySelectorAll('#log .prose *')) { n.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));"
                "if (!n.closest('a[href]')) n.dispatchEvent(new MouseEvent('click', { bubbles: true })); }")
    told = drawing.run(SAFE + """
        return [window.fired ?? null, window.violations, [...document.querySelectorAll(".prose")].flatMap(unsafe),
            performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith(location.origin))]""")
    drawing.check(told == [None, [], [], []], told)
    answer(drawing, server, "Still *alive*.")
    drawing.check(drawing.text(".answer-text em") == "alive", "the page is dead")


def test_huge_and_nested_texts_leave_the_page_alive(drawing, server):
    drawing.run("document.getElementById('log').append(window.drawn(['$x^2$']))")
    drawing.until(lambda: drawing.count("#log math"))
    for text in HUGE:
        took = drawing.run("const start = performance.now(); const n = window.drawn([arguments[0]]); document.getElementById('log').append(n);"
                           "n.getBoundingClientRect(); n.remove(); return performance.now() - start", text)
        drawing.check(took < 20000, f"{text[:10]!r} took {took:.0f} ms")
    answer(drawing, server, "Still *alive*.")
    drawing.check(drawing.text(".answer-text em") == "alive", "the page is dead")


def test_maths_is_drawn_and_prices_are_not(drawing, server):
    text = ("Prices: $5 and $6, or 20$ and 30$; \\$x\\$; `$y$`.\n\nMaths: $a^2+b^2$, \\(\\frac{1}{2}\\), $$\\sum_i x_i$$ and\n\n"
            "\\[\nx = \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}\n- 1\n\\]\n\n$\\unknownmacro$ stays.")
    answer(drawing, server, "No maths: $5 and $6.")
    loaded = "return performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/katex.js')).length"
    drawing.check(drawing.run(loaded) == 0, "KaTeX was loaded for prices")
    answer(drawing, server, text)
    drawing.until(lambda: drawing.count(".answer-text math") == 4)
    drawing.check(drawing.run(loaded) == 1, "KaTeX was not loaded once")
    drawing.check(drawing.count('.answer-text math[display="block"]') == 2, "no display")
    drawing.check("$5 and $6, or 20$ and 30$; $x$; $y$." in drawing.text(".turn:last-child .answer-text"), drawing.text(".answer-text"))
    drawing.check(drawing.text(".answer-text code.maths") == "\\unknownmacro", "an unknown macro is not its source")
    drawing.check(drawing.run("return window.violations") == [], "the policy was violated")


def test_what_is_finished_is_not_read_again(drawing):
    """By counts: letters that the sanitiser saw, one draw a token."""
    def seen(tokens):
        return drawing.run("""
            const real = DOMPurify.sanitize, tokens = arguments[0];
            let letters = 0;
            DOMPurify.sanitize = (html, ...rest) => { letters += html.length; return real.call(DOMPurify, html, ...rest); };
            try { return [window.drawn(tokens).textContent.length, letters]; } finally { DOMPurify.sanitize = real; }""", tokens)
    words = [f"word{i} " + ("\n\n" if i % 50 == 49 else "") for i in range(5000)]
    (half, once), (whole, twice) = seen(words[:2500]), seen(words)
    drawing.check(whole > 1.9 * half and twice < 2.4 * once, f"{once} letters for 2,500 tokens, {twice} for 5,000")
    drawing.check(twice < 5000 * 1200, f"{twice} letters")


def test_a_long_answer_is_drawn_once_a_frame_and_leaves_time(drawing, server):
    """One block that never ends, too: a list."""
    drawing.run("""
        window.frames_seen = 0; window.draws = 0;
        (function count() { ++window.frames_seen; requestAnimationFrame(count); })();
        const real = DOMPurify.sanitize;
        DOMPurify.sanitize = (...all) => { ++window.draws; return real.apply(DOMPurify, all); };""")
    answer(drawing, server, "".join(f"- item **{i}** of many\n" for i in range(1200)))
    drawn, frames = drawing.run("return [window.draws, window.frames_seen]")
    drawing.check(drawn <= frames + 5, f"{drawn} draws in {frames} frames")
    drawing.check(drawing.count(".answer-text li") == 1200, f"{drawing.count('.answer-text li')} items")


def test_tables_code_links_and_directions(page, server):
    answer(page, server, "# Title\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n```python\nprint('hi')\n\n```\n\n1. one\n2. two\n\n"
           "[safe](https://example.invalid/a) <mailto:a@example.invalid> [local](/load) ![a cat](https://example.invalid/cat.png)\n\nשלום *עולם*\n\n~~gone~~ <b>raw</b>")
    page.check(page.run("return [...document.querySelectorAll('.answer-text td')].map((n) => n.className)") == ["to-center", "to-right"], "not aligned")
    page.check(page.text(".code-head span") == "python" and page.text(".code pre") == "print('hi')\n\n", "no code")
    links = page.run("return [...document.querySelectorAll('.answer-text a')].map((n) => [n.textContent, n.getAttribute('href'), n.rel, n.target])")
    away = ["noopener noreferrer", "_blank"]
    page.check(links == [["safe", "https://example.invalid/a", *away], ["mailto:a@example.invalid", "mailto:a@example.invalid", *away], ["local", None, "", ""],
                         ["a cat", "https://example.invalid/cat.png", *away]], links)
    page.check(page.run("return [...document.querySelectorAll('.answer-text p')].map((n) => getComputedStyle(n).direction)") == ["ltr", "rtl", "ltr"], "directions")
    page.check("<b>raw</b>" in page.text(".answer-text") and page.text(".answer-text s") == "gone", page.text(".answer-text"))
    page.check(not page.wider(), "the page is wider than the window")


COPIED = "window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }"


def test_copying_gives_the_markdown_and_the_code(page, server):
    text = "A **bold** word.\n\n```c\nint a;\n```\n"
    answer(page, server, text)
    page.run(COPIED)
    page.press(".answer .copy")
    page.press(".copy-code")
    page.until(lambda: page.run("return window.copied.length") == 2)
    page.check(page.run("return window.copied") == [text, "int a;\n"], page.run("return window.copied"))
    page.check(page.text(".answer .copy") == "Copied", page.text(".answer .copy"))
    # Where a page came by plain HTTP there is no such clipboard.
    page.run("Object.defineProperty(navigator, 'clipboard', { value: undefined }); const put = DataTransfer.prototype.setData;"
             "DataTransfer.prototype.setData = function (type, text) { window.copied.push(text); return put.call(this, type, text); }")
    page.one(".answer .copy").click()
    page.until(lambda: page.run("return window.copied.length") == 3)
    page.check(page.run("return window.copied[2]") == text, page.run("return window.copied"))


def test_text_and_tokens_are_two_views_of_an_answer(page, server):
    answer(page, server, "A **bold** word, and some more of them.")
    page.check(page.count(".answer strong") == 1 and page.count(".answer .token") == 0, "the default isn't text")
    page.one("#view-tokens").click()
    page.check(page.count(".answer .token") == 6 and page.text(".tokens") == "A **bold** word, and some more of them.", page.text(".answer-text"))
    page.all(".answer .token")[1].click()
    page.until(lambda: page.one("#rounds").is_displayed())
    page.one("#close-rounds").click()
    page.driver.refresh()
    page.until(lambda: page.one("#view-tokens").get_attribute("aria-pressed") == "true")
    page.until(lambda: page.all("#state dd"))
    page.press("#fresh")  # what is kept is another test's
    answer(page, server, "A **bold** word.")
    page.check(page.count(".answer .token") == 3, "it isn't remembered")
    page.one("#view-text").click()
    page.check(page.count(".answer-text strong") == 1 and page.count(".answer .token") == 0, "no way back")


def test_reasoning_folds_when_the_answer_begins(page, server):
    server.on(CHAT, Thinking(["First ", "*think*", "."], ["The ", "answer", "."]))
    page.ask("Tell me.")
    page.until(page.idle)
    page.until(lambda: page.text(".answer-text > div > .prose") == "The answer.")
    page.check(page.run("return document.querySelector('.thoughts').open") is False, "it isn't folded")
    page.check(page.text(".thoughts em") == "think" and page.text(".thoughts summary") == "What it thought", page.text(".thoughts"))
    page.one(".thoughts summary").click()
    page.check(page.one(".thoughts em").is_displayed(), "it can't be opened again")
    page.run(COPIED)
    page.press(".answer .copy")
    page.until(lambda: page.run("return window.copied.length") == 1)
    page.check(page.run("return window.copied[0]") == "The answer.", "what was thought was copied")


def test_reasoning_is_open_while_it_is_thought(page, server):
    held = threading.Event()
    server.on(CHAT, holding(Thinking(["First ", "*think*", "."], ["The ", "answer", "."]), 3, held))
    page.ask("Tell me.")
    page.until(lambda: page.text(".thoughts em") == "think")
    page.check(page.run("return document.querySelector('.thoughts').open") and page.text(".thoughts summary") == "Thinking…", "it isn't open")
    held.set()
    page.until(lambda: page.idle() and page.run("return document.querySelector('.thoughts').open") is False)


def test_the_page_is_small(page):
    """Everything that is loaded without maths, in bytes."""
    size = page.run("return performance.getEntriesByType('resource').filter((e) => /\\.(js|css|svg)$/.test(e.name))"
                    ".reduce((sum, e) => sum + e.decodedBodySize, document.documentElement.outerHTML.length)")
    page.check(200_000 < size <= 400_000, f"{size} bytes")

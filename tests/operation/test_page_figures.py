"""The chat page's figures, which explain themselves, and the trees of its rounds."""
import threading

from selenium.webdriver.common.keys import Keys

from scripted_server import Stream, holding

CHAT = "/v1/chat/completions"
WORDS = ["word "] * 20


class Undrafted(Stream):
    """Rounds in which nothing was drafted, but for the last."""

    def events(self):
        events = list(super().events())
        rounds = [e["choices"][0]["speculation"]["round"] for e in events
                  if e["choices"] and "round" in e["choices"][0].get("speculation", {})]
        for told in rounds[:-1]:
            told.update(drafted=0, verified=1, accepted=0, nodes=told["nodes"][:1])
        yield from events


def answer(page, server, *tokens):
    """The tokens as an answer, whole."""
    server.on(CHAT, Stream(tokens))
    page.ask("Tell me.")
    page.until(lambda: page.count(".figures .figure") > 1 and page.idle())


def test_figures_explain_themselves(page, server):
    answer(page, server, *WORDS)
    page.until(lambda: "tokens/s" in page.text(".figures"))
    names = page.run("return [...document.querySelectorAll('#state .figure, .figures .figure, #context .figure')].map((n) => n.parentNode.parentNode.innerText)")
    page.check(len(names) >= 8, names)
    for button in page.all("#state .figure, .figures .figure, #context .figure"):
        page.run("arguments[0].focus()", button)
        button.send_keys(Keys.ENTER)
        page.until(lambda: page.one("#explanation").is_displayed() and len(page.text("#explanation")) > 20)
        page.check(button.get_attribute("aria-expanded") == "true", "it isn't told")
        button.send_keys(Keys.ESCAPE)
        page.until(lambda: not page.one("#explanation").is_displayed())
        page.check(page.run("return document.activeElement === arguments[0]", button), "the focus is lost")
    page.one("#view-tokens").click()
    page.all(".answer .token")[1].click()
    page.until(lambda: page.one("#rounds").is_displayed())
    page.one("#round-facts .figure").click()
    page.until(lambda: page.one("#rounds #explanation").is_displayed())


def test_a_press_on_a_figure_is_not_lost_while_the_figures_change(page, server):
    held = threading.Event()
    server.on(CHAT, holding(Stream([f"word{i} " for i in range(40)]), 10, held))
    page.ask("Tell me.")
    page.until(lambda: page.count(".figures .figure") > 1)
    page.run("window.first = document.querySelector('.figures .figure'); window.first.focus()")
    held.set()
    page.until(page.idle)
    page.check(page.run("return document.querySelector('.figures .figure') === window.first && document.activeElement !== document.body"), "it was made anew")


def test_a_tree_has_a_root_that_nobody_accepted(page, server):
    answer(page, server, *WORDS)
    page.press(".answer .tools button")
    page.until(lambda: page.one("#rounds").is_displayed())
    strokes = page.run("return [...document.querySelectorAll('#round-tree rect')].map((n) => n.getAttribute('stroke'))")
    page.check(strokes == ["var(--soft)"] + ["var(--good)"] * 3, strokes)
    page.check("1 more was proposed and not verified" in page.text("#rounds .note"), page.text("#rounds .note"))


def test_rounds_that_drafted_nothing_do_not_open(page, server):
    server.on(CHAT, Stream(["One ", "two ", "three"], rounds=99), Undrafted(WORDS[:15]))
    page.one("#view-tokens").click()
    page.ask("Tell me.")
    page.until(lambda: page.count(".answer .token") == 3 and page.idle())
    page.check(not page.one(".answer .tools button").is_displayed(), "there are no rounds to open")
    page.ask("Tell me.")
    page.until(lambda: page.count(".turn:last-child .token") == 15 and page.idle())
    page.all(".turn:last-child .token")[1].click()
    page.all(".turn:last-child .token")[9].click()
    page.until(lambda: page.one("#rounds").is_displayed())
    page.check(page.text("#rounds-title") == "Round 3 of 3", page.text("#rounds-title"))
    page.check(not page.one("#previous-round").is_enabled() and not page.one("#next-round").is_enabled(), "others can be reached")

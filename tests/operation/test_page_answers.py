"""The chat page with answers that a script writes: what it does with long, failed and odd ones."""
import re

import pytest

from augur_server import PATIENCE, Server
from chromium_page import Page
from scripted_server import ScriptedServer, Stream

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def behind(chat_stories):
    with Server(chat_stories, "--spec-type", "ngram", "--no-log-requests") as running:
        yield running
        running.close()


@pytest.fixture
def server(behind, request):
    with ScriptedServer(behind, request.config.getoption("--page-files")) as scripted:
        yield scripted


@pytest.fixture
def page(server, need, request):
    with Page(server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots")) as opened:
        opened.until(lambda: opened.all("#state dd"))
        yield opened


def words(count):
    return [f"word{i} " for i in range(count)]


def counted(page):
    """Layouts so far."""
    metrics = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(int(m["value"]) for m in metrics if m["name"] == "LayoutCount")


def test_a_long_answer_takes_a_layout_a_frame(page, server):
    server.on(CHAT, Stream(words(3000)))
    page.driver.execute_cdp_cmd("Performance.enable", {})
    page.run("window.frames_seen = 0; (function count() { ++window.frames_seen; requestAnimationFrame(count); })()")
    page.ask("Tell me all.")
    before, frames = counted(page), page.run("return window.frames_seen")
    page.until(lambda: page.count(".answer .token") == 3000 and page.idle())
    layouts, frames = counted(page) - before, page.run("return window.frames_seen") - frames
    page.check(layouts <= frames + 20, f"{layouts} layouts in {frames} frames")
    page.check(page.run("const l = document.getElementById('log'); return l.scrollHeight - l.scrollTop - l.clientHeight") < 2,
               "the end is not seen")


def test_stop_is_sent_while_tokens_arrive(page, server):
    endless = Stream(words(200000))
    server.on(CHAT, endless)
    page.ask("Tell me all.")
    page.until(lambda: page.count(".answer .token") > 200)
    page.press("#stop")
    page.until(page.idle)
    page.check(endless.done.wait(PATIENCE) and endless.left, "the server was not told to stop")
    page.check("stopped" in page.text(".figures"), "the answer doesn't say that it was stopped")
    shown = page.count(".answer .token")
    page.check(shown < 200000, "all was written")


def test_speeds_are_the_servers(page, server):
    """However fast the tokens come to the page: here all come at once."""
    server.on(CHAT, Stream(words(80), ms=4000), Stream(words(80), ms=1000))
    page.ask("Tell me all.", "#race")
    page.until(page.idle)
    page.until(lambda: page.text(".verdict").startswith("identical"))
    speeds = [re.match(r"([\d.]+) tokens/s", f.text)[1] for f in page.all(".figures")]
    page.check(speeds == ["20.0", "80.0"], f"speeds {speeds}")
    page.check("20.0 → 80.0 tokens/s, 4.00×" in page.text(".verdict"), page.text(".verdict"))

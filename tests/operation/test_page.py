"""The chat page in headless browsers: a chat, a stop, a tree opened, a race that ends in "identical", at phone and
desktop width, light and dark. --screenshots names a folder for what it looks like."""
import pytest
from selenium.webdriver.common.keys import Keys

from augur_server import Server
from browser_page import TOKENS, Page

WIDTHS = {"phone": (390, 844), "desktop": (1280, 860)}


def chat(page):
    page.set("max-tokens", 120)
    page.set("temperature", 0)
    page.set("policy", "eagle2")  # auto may well decide not to draft on a busy machine
    page.ask("List three colours, three animals and three colours again.")
    page.until(lambda: len(page.all(".answer .token")) > 20)
    page.shot("streaming")
    page.until(page.idle)
    page.check(not page.all(".warn"), "the answer failed")
    page.check("tokens/s" in page.one(".figures").text, "no figures")
    page.check(any("depth" in s.get_attribute("title") for s in page.all(".answer .token")), "no token was drafted")
    page.shot("chat")
    before = page.one(".answer-text").text
    page.one(".again").click()
    page.until(lambda: page.idle() and page.all(".answer .token"))
    page.check(page.one(".answer-text").text == before, "a greedy answer differs when it is given again")


def tree(page):
    drafted = [s for s in page.all(".answer .token") if "depth" in s.get_attribute("title") and s.text.strip()]
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", drafted[-1])
    drafted[-1].click()
    page.until(lambda: page.one("#rounds").is_displayed())
    page.check(len(page.all("#round-tree svg rect")) > 1, "the tree has no nodes")
    page.check(page.all("#round-tree rect[stroke='var(--good)']"), "no node is accepted")
    page.shot("tree")
    title = page.one("#rounds-title").text
    page.one("#previous-round").click()
    page.check(page.one("#rounds-title").text != title, "there is no way to another round")
    page.one("#close-rounds").send_keys(Keys.ESCAPE)
    page.until(lambda: not page.one("#rounds").is_displayed())


def stop(page):
    # After some events the answer waits to be stopped, however fast the model is.
    page.driver.execute_script(r"""
        const send = window.fetch;
        window.fetch = async (url, options) => {
            if (url !== "/v1/chat/completions") return send(url, options);
            window.fetch = send;
            const answer = await send(url, options);
            const reader = answer.body.getReader(), decoder = new TextDecoder(), encoder = new TextEncoder();
            const stopped = new Promise((_, reject) => options.signal.addEventListener("abort",
                () => reject(options.signal.reason)));
            stopped.catch(() => {});  // it may be stopped before anything waits for that
            let left = 20;
            return new Response(new ReadableStream({
                async pull(controller) {
                    if (left === 0) await stopped;
                    const { value } = await reader.read();
                    const events = decoder.decode(value, { stream: true }).split(/(?<=\n\n)/).slice(0, left);
                    left -= events.length;
                    controller.enqueue(encoder.encode(events.join("")));
                } }), { status: answer.status, headers: answer.headers });
        };""")
    turns = page.count(".turn")
    page.ask("Tell me a very long story of a river.")
    page.until(lambda: page.count(".turn") > turns and page.count(".turn:last-child .token") > 5)
    page.press("#stop")
    page.until(page.idle)
    page.check("stopped" in page.all(".figures")[-1].text, "the answer was not stopped")


def race(page):
    page.one("#fresh").click()
    page.set("max-tokens", 100)
    page.set("temperature", 0.7)
    page.set("seed", 7)
    page.ask("Write a long poem about the sea and the wind.", "#race")
    page.until(page.idle)
    verdict = page.one(".verdict").text
    page.check(verdict.startswith("identical"), f"the race ended in '{verdict}'")
    page.shot("race")


def settings(page):
    page.one("#open-settings").click()
    page.until(lambda: page.one("#settings").is_displayed())
    page.check(not page.wider(), "the page is wider than the window")
    page.until(lambda: len(page.all("#drafter option")) > 1)  # what the server has
    page.shot("settings")
    page.one("#close-settings").click()


@pytest.fixture(scope="module")
def server(smollm2):
    with Server(smollm2, "--spec-type", "ngram", "--no-log-requests") as running:
        yield running
        running.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_page(request, need, server, width, theme):
    folder = request.config.getoption("--screenshots")
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with Page(server.url, need, WIDTHS[width], theme, f"{width}-{theme}", folder, before=TOKENS) as page:
        page.until(lambda: page.all("#state dd"))
        page.shot("welcome")
        for part in (chat, tree, settings, stop, race):
            part(page)
            page.check(not page.wider(), f"{part.__name__}: the page is wider than the window")
            log = page.log()
            page.check(not log, f"{part.__name__}: the console says {log}")

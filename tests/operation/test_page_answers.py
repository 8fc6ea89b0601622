"""The chat page with answers that a script writes: what it does with long, failed and odd ones."""
import re
import threading

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from augur_server import PATIENCE
from browser_page import TOKENS, Page
from scripted_server import Answer, Stream, error

CHAT = "/v1/chat/completions"


@pytest.fixture
def page(server, need, request):
    with Page(server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots"), before=TOKENS) as opened:
        opened.until(lambda: opened.all("#state dd"))
        yield opened


def words(count):
    return [f"word{i} " for i in range(count)]


def test_a_long_answer_takes_a_layout_a_frame(page, server):
    server.on(CHAT, Stream(words(3000)))
    page.run("window.frames_seen = 0; (function count() { ++window.frames_seen; requestAnimationFrame(count); })()")
    page.ask("Tell me all.")
    before, frames = page.browser.layouts(), page.run("return window.frames_seen")
    page.until(lambda: page.count(".answer .token") == 3000 and page.idle())
    layouts, frames = page.browser.layouts() - before, page.run("return window.frames_seen") - frames
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


COUNT = "/v1/chat/completions/input_tokens"


def contents(asked):
    return [m["content"] for m in asked["messages"]]


def answered(page, server, text, count):
    page.ask(text)
    page.until(lambda: len(server.asked[CHAT]) == count and page.idle())


@pytest.mark.parametrize("failure", [
    error(400, "the prompt has 9000 tokens, and the context 512"), error(500, "something broke"),
    Stream(words(40), cut=10), Stream(words(40), cut=0), Answer(200, b"no stream at all"), Answer(502, b"<html>proxy</html>")])
def test_a_failed_message_stays_out(page, server, failure):
    server.on(CHAT, Stream(["Fine."]), failure, Stream(["Good."]))
    answered(page, server, "first", 1)
    answered(page, server, "second", 2)
    page.until(lambda: page.count(".warn") == 1)
    page.check(page.one("#prompt").get_attribute("value") == "second", "the text didn't come back")
    page.check("complete" not in page.text("#said"), page.text("#said"))
    answered(page, server, " again", 3)
    page.check(contents(server.asked[CHAT][2]) == ["first", "Fine.", "second again"], server.asked[CHAT][2])
    page.check("1 token is complete" in page.text("#said"), page.text("#said"))


def test_a_failed_regenerate_leaves_what_there_was(page, server):
    server.on(CHAT, Stream(["One."]), Stream(["Two."]), error(500, "something broke"), Stream(["Three."]))
    answered(page, server, "first", 1)
    answered(page, server, "second", 2)
    page.press(".again")
    page.until(lambda: page.count(".warn") == 1 and page.idle())
    page.check([n.text for n in page.all(".answer-text")] == ["One.", "Two."], "the old answers are gone")
    answered(page, server, "third", 4)
    page.check(contents(server.asked[CHAT][3]) == ["first", "One.", "second", "Two.", "third"], server.asked[CHAT][3])


def test_a_full_context_is_said_before_it_fails(page, server):
    """A context of 512 tokens, of which every message takes 100."""
    server.on(COUNT, lambda asked: Answer(200, {"input_tokens": 100 * len(asked["messages"])}))
    server.on(CHAT, Stream(["Fine."]))
    answered(page, server, "first", 1)
    answered(page, server, "second", 2)
    page.until(lambda: page.one("#room").is_displayed() or "112" in page.text("#context-left"))
    page.ask("third")  # 500 tokens
    page.until(lambda: len(server.asked[CHAT]) == 3 and page.idle())
    page.ask("fourth")  # 700
    page.until(lambda: page.one("#room").is_displayed() and "no room left" in page.text("#room-text") and page.idle())
    page.check(len(server.asked[CHAT]) == 3, "it was sent although there is no room")
    page.check(page.one("#prompt").get_attribute("value") == "fourth", "the text is gone")
    page.press("#trim")
    page.until(lambda: page.count(".left-out") == 2 and page.idle())
    page.run("document.getElementById('prompt').focus()")
    answered(page, server, "", 4)
    page.check(contents(server.asked[CHAT][3]) == ["third", "Fine.", "fourth"], server.asked[CHAT][3])
    page.one("#fresh").click()
    page.until(lambda: "512 tokens left" in page.text("#context-left"))


def test_a_full_server_is_waited_for_and_its_queue_is_named(page, server):
    """Asked again after Retry-After; Stop ends the waiting."""
    full = error(429, "1024 requests wait", Retry_After="1")
    server.on("/load", Answer(200, {"running": 16, "waiting": 1024, "memory": 1, "memory_in_use": 1}))
    server.on(CHAT, full)
    page.ask("first")
    page.until(lambda: "place 1025" in page.text(".figures"))
    page.check("asked again in 1 s" in page.text(".figures"), page.text(".figures"))
    page.press("#stop")
    page.until(page.idle)
    page.check(page.one("#prompt").get_attribute("value") == "first", "the text didn't come back")
    server.on(CHAT, full, error(503, "the model is being loaded", Retry_After="1"), Stream(["Fine."]))
    answered(page, server, "", 3)
    page.check(page.text(".answer-text") == "Fine." and not page.count(".warn"), "it wasn't answered")


def test_a_server_that_is_gone_is_named(page, server):
    server.on(CHAT, Stream(words(20), cut=7))
    answered(page, server, "first", 1)
    page.until(lambda: "was cut off" in page.text(".warn"))
    page.check(page.count(".failed .token") > 0, "what had come is gone")
    server.leave()
    page.ask("")
    page.until(lambda: "cannot be reached" in page.text(".warn"))


def test_a_key_is_corrected_left_and_forgotten(page, server):
    refused = error(401, "unknown key")
    server.on(CHAT, lambda asked: Stream(["Fine."]) if asked["authorization"] == "Bearer right" else refused)

    def opened(title):
        page.until(lambda: page.one("#key-dialog").is_displayed() and title in page.text("#key-title"))

    def give(key):
        page.set("key", key)
        page.press("#key-form [type=submit]")

    page.ask("first")
    opened("asks for a key")
    for odd in ("schlüssel€", "two words", " "):
        give(odd)
        page.check(page.text("#key-error") and page.one("#key-dialog").is_displayed(), f"{odd} was taken")
    give("wrong")
    opened("refused this key")
    page.one("#key").send_keys(Keys.ESCAPE)
    page.until(lambda: "none was given" in page.text(".warn") and page.idle())
    page.check(page.one("#prompt").get_attribute("value") == "first", "the text didn't come back")
    page.ask("")
    opened("refused this key")
    give("right")
    page.until(lambda: page.text(".answer-text") == "Fine." and page.idle())
    page.check(page.run("return sessionStorage.getItem('augur-key')") == "right", "it isn't kept")
    page.press("#open-key")
    opened("The server's key")
    page.press("#forget-key")
    page.until(lambda: not page.one("#key-dialog").is_displayed())
    page.check(page.run("return sessionStorage.getItem('augur-key')") is None, "it isn't forgotten")


KEPT = "augur-settings"


def opened(server, need, name, before):
    page = Page(server.url, need, name=name, before=before)
    page.until(lambda: page.all("#state dd"))
    page.until(lambda: page.count("#drafter option") > 1)
    return page


def test_what_is_not_set_is_the_servers(page, server):
    server.on(CHAT, Stream(["Fine."]))
    page.until(lambda: "0.8" in page.one("#temperature").get_attribute("placeholder"))
    answered(page, server, "first", 1)
    page.check(not {"temperature", "top_p", "seed", "max_tokens", "speculative"} & set(server.asked[CHAT][0]),
               f"it was sent: {server.asked[CHAT][0]}")
    page.set("temperature", "0")
    page.set("max-tokens", "7")
    answered(page, server, "second", 2)
    page.check((server.asked[CHAT][1]["temperature"], server.asked[CHAT][1]["max_tokens"]) == (0, 7), server.asked[CHAT][1])


@pytest.mark.parametrize("most, prompt, said", [
    ("5", 10, "cut at your limit of 5 tokens"), ("", 507, "context is full"), ("9", 10, "the server's limit")])
def test_the_true_reason_of_an_end_is_said(page, server, most, prompt, said):
    server.on(CHAT, Stream(words(5), reason="length", prompt=prompt))
    page.set("max-tokens", most)
    answered(page, server, "first", 1)
    page.until(lambda: said in page.text(".figures"))


def test_a_setting_is_checked_where_it_is_typed(page, server):
    server.on(CHAT, Stream(["Fine."]))
    for field, odd in (("temperature", "3"), ("top-p", "1.5"), ("seed", "1.5"), ("max-tokens", "-1")):
        page.set(field, odd)
        page.check("Expected" in page.text(f"#{field}-wrong"), f"{field} {odd} was taken")
        page.ask("first" if field == "temperature" else "")
        page.until(lambda: page.one("#settings").is_displayed())
        page.check(page.idle() and not server.asked[CHAT], f"it was sent with {field} {odd}")
        page.set(field, "")
        page.check(not page.text(f"#{field}-wrong"), "the empty default is refused")
        page.one("#close-settings").click()
    answered(page, server, "", 1)


@pytest.mark.parametrize("damage", ["{", "null", "[]", "7", '"text"', '{"temperature":"hot","policy":"fast"}', '{"temperature":{"a":1}}',
                                    '{"drafter":"gone"}', '{"speculation":[]}', '{"seed":"-1","top-p":"1e999"}', "denied", "full"])
def test_damaged_or_denied_storage_is_a_line_and_no_dead_page(server, need, damage):
    before = f"localStorage.setItem('{KEPT}', {damage!r})"
    if damage == "denied":
        before = "for (const s of ['localStorage', 'sessionStorage']) Object.defineProperty(window, s, { get() { throw new Error('denied'); } })"
    if damage == "full":
        before = "Storage.prototype.setItem = () => { throw new Error('QuotaExceededError'); }"
    server.on(CHAT, Stream(["Fine."]))
    with opened(server, need, f"storage-{damage[:4]}", before) as page:
        if damage in ("denied", "full"):
            page.set("seed", "7")
        page.until(lambda: page.text("#told"))
        answered(page, server, "first", 1)
        page.until(lambda: page.text(".answer-text") == "Fine.")
        page.check(not {"temperature", "top_p"} & set(server.asked[CHAT][0]), server.asked[CHAT][0])
        log = page.log()
        page.check(not log, f"the console says {log}")


def test_what_was_chosen_is_remembered_and_heard_by_another_tab(page, server):
    page.press("#theme")
    page.press("#speculation")
    page.set("temperature", "0.5")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.driver.get(server.url)
    page.until(lambda: page.all("#state dd"))
    seen = page.run("return [document.documentElement.dataset.theme, document.getElementById('speculation').checked,"
                    "document.getElementById('temperature').value]")
    page.check(seen == ["dark", False, "0.5"], seen)
    page.set("temperature", "0.7")
    page.driver.switch_to.window(first)
    page.until(lambda: page.run("return document.getElementById('temperature').value") == "0.7")


def test_a_server_that_loads_is_waited_for(server, need):
    loading = error(503, "the model is being loaded", Retry_After="1")
    for path in ("/v1/models", "/props", "/load"):
        server.on(path, loading)
    with Page(server.url, need, name="loading") as page:
        page.until(lambda: page.text("#model") == "loading…" and len(server.asked["/props"]) > 1)
        server.script.clear()
        page.until(lambda: page.text("#model") not in ("", "loading…"))
        page.until(lambda: page.count("#drafter option") > 1 and page.all("#state dd"))


def test_a_double_click_selects_a_word_and_copies_plain_text(page, server):
    server.on(CHAT, Stream(["Once ", "up", "on ", "a ", "time ", "two ", "friends ", "met."]))
    answered(page, server, "first", 1)
    page.until(lambda: page.count(".answer .token") == 8)
    ActionChains(page.driver).double_click(page.all(".answer .token")[1]).perform()
    page.check(page.run("return getSelection().toString().trim()") == "upon", page.run("return getSelection().toString()"))
    page.run("""addEventListener("copy", (event) => {
        const data = event.clipboardData;
        window.copied = [[...data.types], data.getData("text/plain").trim(), event.defaultPrevented];
    })""")
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("c").key_up(Keys.CONTROL).perform()
    page.check(page.run("return window.copied") == [["text/plain"], "upon", True], page.run("return window.copied"))
    page.check(not page.one("#rounds").is_displayed(), "the round was opened")
    page.run("getSelection().removeAllRanges()")
    page.all(".answer .token")[4].click()
    page.until(lambda: page.one("#rounds").is_displayed())
    ActionChains(page.driver).send_keys(*[Keys.TAB] * 9).perform()
    page.check(page.run("return document.activeElement === document.body || document.getElementById('rounds').contains(document.activeElement)"),
               "the focus left the dialog")
    ActionChains(page.driver).send_keys(Keys.ESCAPE).perform()
    page.until(lambda: not page.one("#rounds").is_displayed())


CONTRAST = """
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.canvas.width = canvas.canvas.height = 1;
    const painted = (...colours) => {
        for (const c of colours) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (c) => c.map((x) => x / 255).map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (node) => {
        const under = [];
        for (let n = node; n; n = n.parentElement) under.unshift(getComputedStyle(n).backgroundColor);
        const [low, high] = [light(painted(...under)), light(painted(...under, getComputedStyle(node).color))].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(server, need, theme):
    """4.5 on every tint, as painted, and on what verdicts and warnings are."""
    server.on(CHAT, Stream(words(12)))
    with Page(server.url, need, theme=theme, name=theme, before=TOKENS) as page:
        page.ask("first", "#race")
        page.until(lambda: page.idle() and page.text(".verdict").startswith("identical"))
        server.on(CHAT, error(500, "broke"))
        page.ask("second")
        page.until(lambda: page.count(".warn"))
        least = page.run(CONTRAST + """
            const token = document.querySelector(".lanes .token"), found = {};
            for (let i = 1; i <= 9; ++i) for (const depth of [0, 1, 4, 16]) {
                token.style.background = proposerColour(i, depth);
                if (getComputedStyle(token).backgroundColor === "rgba(0, 0, 0, 0)") throw new Error("no tint");
                found[`tint ${i} ${depth}`] = contrast(token);
            }
            for (const s of [".verdict b", ".warn", ".figures b", ".figures span", ".legend span", ".note", "#send", "#told", "#context-left"])
                found[s] = contrast(document.querySelector(s));
            return Object.entries(found).sort((a, b) => a[1] - b[1])[0];""")
        page.check(least[1] >= 4.5, f"{least[0]} has {least[1]:.2f}")


def test_the_focus_stays_in_the_composer_and_the_status_is_true(page, server):
    focused = "return document.activeElement.id"
    server.on(CHAT, Stream(["Fine."]), Stream(["Better."]), error(500, "broke"))
    page.ask("first", "#send")
    page.until(lambda: page.text(".answer-text") == "Fine." and page.idle())
    page.check(page.run(focused) == "prompt", f"after Send the focus is at {page.run(focused)}")
    page.one(".again").click()
    page.until(lambda: page.text(".answer-text") == "Better." and page.idle())
    page.check(page.run(focused) == "prompt", f"after Regenerate the focus is at {page.run(focused)}")
    page.ask("second", "#send")
    page.until(lambda: "broke" in page.text("#said") and page.idle())
    held = threading.Event()
    server.on(CHAT, Stream(words(9), gate=held))
    page.ask("", "#send")
    page.until(lambda: len(server.asked[CHAT]) == 1)
    page.one("#stop").click()
    page.until(page.idle)
    held.set()
    page.check(page.run(focused) == "prompt", f"after Stop the focus is at {page.run(focused)}")
    page.check(page.text("#said") == "Stopped before an answer began.", page.text("#said"))
    page.one("#open-settings").click()
    page.one("#system").send_keys(Keys.ESCAPE)
    page.until(lambda: not page.one("#settings").is_displayed())
    page.check(page.run(focused) == "open-settings", "Escape lost the focus")


def test_a_small_window_and_forced_colours_are_usable(server, need):
    server.on(CHAT, Stream(words(40)))
    with Page(server.url, need, size=(320, 256), name="small", before=TOKENS) as page:
        page.media({"forced-colors": "active"})
        for selector in ("#prompt", "#send", "#open-settings", "#theme"):
            page.run("arguments[0].scrollIntoView()", page.one(selector))
            box = page.run("const b = arguments[0].getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]", page.one(selector))
            page.check(box[0] >= 0 and box[1] <= 320 and box[2] < 256 and box[3] > 0, f"{selector} is at {box}")
        page.ask("first", "#send")
        page.until(lambda: page.count(".answer .token") == 40 and page.idle())
        page.check(not page.wider(), "the page is wider than the window")
        page.check("underline" in page.run("return getComputedStyle(document.querySelector('[data-drafted]')).textDecorationLine"),
                   "drafted tokens are not told apart")
        size = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)"
        before = [page.run(size, s) for s in (".answer-text", ".figures", "#send", "#prompt")]
        page.run("document.documentElement.style.fontSize = '32px'")
        grown = [page.run(size, s) for s in (".answer-text", ".figures", "#send", "#prompt")]
        page.check(all(g == 2 * b for g, b in zip(grown, before)), f"{before} became {grown}")

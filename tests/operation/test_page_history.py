"""The chat page keeps chats: what survives a reload, branches, exports and imports, two tabs, and damaged storage."""
import json
import threading

import pytest
from selenium.webdriver.common.keys import Keys

from augur_server import Server
from chromium_page import Page
from scripted_server import ScriptedServer, Stream, error

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
def opened(server, need, request):
    """opened(before): a browser of its own that has the page."""
    pages = []

    def make(before=None, url=None):
        page = Page(url or server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots"), before=before)
        pages.append(page)
        started(page)
        return page
    yield make
    for page in pages:
        page.__exit__()


@pytest.fixture
def page(opened):
    return opened()


def started(page):
    page.until(lambda: page.all("#state dd") and page.count("#chat-list > *"))


def reloaded(page):
    page.driver.refresh()
    started(page)


def say(page, text):
    """Without waiting for an answer."""
    page.run("const n = document.getElementById('prompt'); n.value = arguments[0]; n.dispatchEvent(new Event('input'));"
             "document.getElementById('composer').requestSubmit();", text)


def answered(page, server, text):
    count = len(server.asked[CHAT])
    say(page, text)
    page.until(lambda: len(server.asked[CHAT]) == count + 1 and page.idle())


def contents(asked):
    return [m["content"] for m in asked["messages"]]


def texts(page, selector):
    return page.run("return [...document.querySelectorAll(arguments[0])].map((n) => n.textContent)", selector)


def turns(page):
    """What is seen: what was asked and answered."""
    return [[t.removeprefix("You: ") for t in texts(page, ".turn:not(.failed) > .asked")], texts(page, ".turn:not(.failed) .answer-text")]


def titles(page):
    return texts(page, ".open-chat")


def act(page, label, at=-1):
    """Presses one of the buttons that say this."""
    page.run("[...document.querySelectorAll('#log button')].filter((b) => b.textContent === arguments[0]).at(arguments[1]).click()", label, at)


def choose(page, title, button):
    page.run("[...document.querySelectorAll('.kept-chat')].find((n) => n.querySelector('.open-chat').textContent === arguments[0])"
             ".querySelector('.chat-more').click()", title)
    page.press(f"#{button}")


def edit(page, text, new):
    page.run("const turn = [...document.querySelectorAll('.turn')].find((t) => t.querySelector('.asked').textContent === 'You: ' + arguments[0]);"
             "[...turn.querySelectorAll('button')].find((b) => b.textContent === 'Edit').click();"
             "turn.querySelector('.editing textarea').value = arguments[1]; turn.querySelector('.editing').requestSubmit();", text, new)


def downloaded(page, press):
    """The text of the file that it offers."""
    page.run("window.offered = null; URL.createObjectURL = (blob) => { blob.text().then((t) => { window.offered = t; }); return '#'; };"
             "HTMLAnchorElement.prototype.click = function () {};")
    press()
    page.until(lambda: page.run("return window.offered") is not None)
    return page.run("return window.offered")


def exported(page):
    return json.loads(downloaded(page, lambda: page.press("#export-all")))


def give(page, field, *paths):
    page.one(field).send_keys("\n".join(str(p) for p in paths))


def told(page):
    return page.text("#told")


def database(page, script):
    """Runs `script` with `db`, the page's database, and its keys `db.all()`; done when its transactions are."""
    page.driver.set_script_timeout(30)
    return page.driver.execute_async_script("""
        const done = arguments[arguments.length - 1], asked = indexedDB.open("augur-chats");
        asked.onsuccess = async () => {
            const db = asked.result, values = (store) => new Promise((resolve) => {
                const all = db.transaction(store).objectStore(store).getAll();
                all.onsuccess = () => resolve(all.result);
            });
            const put = (store, ...items) => new Promise((resolve, reject) => {
                const writing = db.transaction(store, "readwrite");
                items.forEach((item) => writing.objectStore(store).put(item));
                writing.oncomplete = resolve;
                writing.onabort = () => reject(writing.error);
            });
            try { done(await (async () => { """ + script + """ })()); } catch (error) { done("failed: " + error); }
            db.close();
        };""")


def test_forty_turns_survive_a_reload_branches_and_a_move_to_another_browser(page, opened, server, tmp_path):
    server.on(CHAT, lambda asked: Stream([f"answer {len(asked['messages'])} ", "of ", "four ", "words"]))
    for i in range(40):
        answered(page, server, f"question {i}")
    slow = Stream(["one ", "two ", "three ", *["word "] * 5000])
    slow.gate = Paced(0.05)
    server.on(CHAT, slow)
    say(page, "the last")
    page.until(lambda: len(turns(page)[1]) == 41 and turns(page)[1][-1].startswith("one two three word"))
    before = turns(page)
    reloaded(page)
    page.until(lambda: len(turns(page)[1]) == 41)
    asked, seen = turns(page)
    page.check(asked == before[0] and seen[:40] == before[1][:40], "turns are lost")
    page.check(seen[40].startswith("one two three"), f"of the answer that ran is left {seen[40]!r}")
    page.check("stopped" in page.text(".figures"), page.text(".figures"))
    page.check(slow.done.wait(30) and slow.left, "the server was not told that the page left")

    server.on(CHAT, Stream(["and ", "an ", "end"]))
    act(page, "Continue")
    page.until(lambda: turns(page)[1][-1].endswith("and an end") and page.idle())
    sent = server.asked[CHAT][0]
    page.check(sent["continue_final_message"] is True and sent["messages"][-1] == {"role": "assistant", "content": seen[40]}, sent["messages"][-1])

    server.on(CHAT, Stream(["another ", "one"]))
    edit(page, "question 20", "question twenty")
    page.until(lambda: turns(page)[1][-1] == "another one" and page.idle())
    page.check(len(turns(page)[0]) == 21 and turns(page)[0][-1] == "question twenty", turns(page)[0])
    page.check(contents(server.asked[CHAT][0])[-2:] == ["answer 39 of four words", "question twenty"], contents(server.asked[CHAT][0])[-2:])
    act(page, "Regenerate")
    page.until(lambda: len(server.asked[CHAT]) == 2 and page.idle())
    page.check("2/2" in page.text(".turn:last-child .asked-tools") and "2/2" in page.text(".turn:last-child .more"), "branches aren't counted")
    reloaded(page)
    page.until(lambda: len(turns(page)[0]) == 21)
    act(page, "‹", -2)  # of the question
    page.until(lambda: len(turns(page)[0]) == 41)
    page.check(turns(page)[1][-1] == seen[40] + "and an end", "the branch before is not whole")

    chats = exported(page)
    page.check(len(chats["chats"]) == 1 and len(chats["chats"][0]["messages"]) == 2 * 41 + 3, "not all messages are exported")
    whole = turns(page)
    choose(page, "question 0", "delete-chat")
    page.until(lambda: titles(page) == [] and page.count("#welcome"))
    page.check(database(page, "return [await values('chats'), await values('messages'), await values('pieces')]") == [[], [], []], "something stays")

    file = tmp_path / "chats.json"
    file.write_text(json.dumps(chats))
    other = opened()
    give(other, "#import-file", file)
    other.until(lambda: titles(other) == ["question 0"])
    other.press(".open-chat")
    other.until(lambda: turns(other) == whole)
    again = exported(other)
    order = lambda export: sorted(export["chats"][0].pop("messages"), key=lambda m: m["id"])
    page.check(order(again) == order(chats) and again["chats"] == chats["chats"], "another browser has other messages")
    server.on(CHAT, Stream(["Fine."]))
    answered(other, server, "and now?")
    other.check(contents(server.asked[CHAT][0]) == [t for turn in zip(*whole) for t in turn] + ["and now?"], "other messages are sent")


class Paced:
    """A gate that opens after so many seconds, each time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def wait(self, _):
        threading.Event().wait(self.seconds)

"""The chat page keeps chats: what survives a reload, branches, exports and imports, two tabs, and damaged storage."""
import json
import threading

import pytest
from selenium.webdriver.common.keys import Keys

from augur_server import Server
from browser_page import TOKENS, Page
from scripted_server import ScriptedServer, Stream, error

CHAT = "/v1/chat/completions"


@pytest.fixture
def opened(server, need, request):
    """opened(before): a browser of its own that has the page."""
    pages = []

    def make(before=None, url=None):
        page = Page(url or server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots"), before=f"{TOKENS};{before or ''}")
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


def test_chats_are_listed_found_renamed_deleted_and_brought_back(page, server):
    server.on(CHAT, lambda asked: Stream([f"An answer on {asked['messages'][-1]['content']}"]))
    for text in ("apples", "pears", "plums"):
        page.press("#fresh")
        answered(page, server, text)
    page.until(lambda: titles(page) == ["plums", "pears", "apples"])
    page.check(texts(page, "#chat-list h2") == ["Today"], texts(page, "#chat-list h2"))
    page.set("find", "on PEARS")
    page.until(lambda: titles(page) == ["pears"])
    page.set("find", "nowhere")
    page.until(lambda: titles(page) == [] and "No chat has this" in page.text("#chat-list"))
    page.set("find", "")
    page.until(lambda: len(titles(page)) == 3)
    page.press(".chat-more")
    page.set("chat-title", "fruit")
    page.one("#chat-title").send_keys(Keys.ENTER)
    page.until(lambda: titles(page) == ["fruit", "pears", "apples"])
    reloaded(page)
    page.until(lambda: titles(page) == ["fruit", "pears", "apples"])
    page.run("[...document.querySelectorAll('.open-chat')].at(-1).click()")
    page.until(lambda: turns(page) == [["apples"], ["An answer on apples"]])
    choose(page, "apples", "delete-chat")
    page.until(lambda: titles(page) == ["fruit", "pears"] and page.count("#welcome"))
    page.press("#told button")
    page.until(lambda: titles(page) == ["fruit", "pears", "apples"] and turns(page) == [["apples"], ["An answer on apples"]])
    reloaded(page)
    page.until(lambda: turns(page) == [["apples"], ["An answer on apples"]])
    page.run("document.querySelector('#chat-list li button').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))")
    page.check(not page.one("#chats").is_displayed(), "Escape leaves the list open")


def test_old_chats_are_listed_by_date(page):
    stored = database(page, """
        const day = 86400000, now = new Date().setHours(12, 0, 0, 0);
        await put("chats", ...[["new", 0], ["before", 1], ["week", 4], ["old", 400]].map(([id, days]) =>
            ({ id, title: id, named: false, created: 0, updated: now - days * day, leaf: null })));
        return "stored";""")
    page.check(stored == "stored", stored)
    reloaded(page)
    page.until(lambda: titles(page) == ["new", "before", "week", "old"])
    groups = texts(page, "#chat-list h2")
    page.check(groups[:3] == ["Today", "Yesterday", "The last 7 days"] and len(groups) == 4, groups)


def test_a_draft_survives_a_reload_and_belongs_to_its_chat(page, server):
    server.on(CHAT, Stream(["Fine."]))
    page.set("prompt", "half a thou")
    reloaded(page)
    page.check(page.one("#prompt").get_attribute("value") == "half a thou", "the draft is gone")
    answered(page, server, "first")
    page.set("prompt", "of the first")
    page.press("#fresh")
    page.check(page.one("#prompt").get_attribute("value") == "", "a new chat has another one's draft")
    page.set("prompt", "of the second")
    page.until(lambda: titles(page) == ["first"])
    page.press(".open-chat")
    page.until(lambda: page.one("#prompt").get_attribute("value") == "of the first")
    reloaded(page)
    page.until(lambda: page.one("#prompt").get_attribute("value") == "of the first")


@pytest.mark.parametrize("reason, goes_on", [("length", True), ("stop", False)])
def test_only_an_answer_that_was_cut_goes_on(page, server, reason, goes_on):
    server.on(CHAT, Stream(["one ", "two "], reason=reason), Stream(["three"]))
    answered(page, server, "count")
    page.check(("Continue" in texts(page, "#log button")) == goes_on, texts(page, "#log button"))
    if goes_on:
        act(page, "Continue")
        page.until(lambda: turns(page)[1] == ["one two three"] and page.idle())
        page.check(contents(server.asked[CHAT][1]) == ["count", "one two "], server.asked[CHAT][1])
        page.check("Continue" not in texts(page, "#log button"), "a complete answer could go on")
        reloaded(page)
        page.until(lambda: turns(page)[1] == ["one two three"])
        page.check(page.count(".answer .token") == 3, "the tokens aren't told apart any more")


def test_a_failed_continue_leaves_what_there_was(page, server):
    server.on(CHAT, Stream(["one "], reason="length"), error(500, "broke"), Stream(["two"]))
    answered(page, server, "count")
    act(page, "Continue")
    page.until(lambda: "broke" in page.text(".warn") and page.idle())
    page.check(turns(page)[1] == ["one "], turns(page))
    act(page, "Continue")
    page.until(lambda: turns(page)[1] == ["one two"] and page.idle() and not page.count(".warn"))


def test_the_real_server_goes_on_where_it_stopped(page, behind):
    """The same answer in one piece and in two."""
    page.set("temperature", "0")
    page.set("max-tokens", "12")
    say(page, "Once upon a time")
    page.until(lambda: page.idle() and turns(page)[1] and "your limit" in page.text(".figures"))
    first = turns(page)[1][0]
    act(page, "Continue")
    page.until(lambda: page.idle() and len(turns(page)[1][0]) > len(first))
    page.set("max-tokens", "24")
    act(page, "Regenerate")
    page.until(lambda: page.idle() and "2/2" in page.text(".more"))
    whole = turns(page)[1][0]
    act(page, "‹")
    page.until(lambda: turns(page)[1][0] == whole)


def test_an_answer_that_was_cut_off_is_a_branch(page, server):
    server.on(CHAT, Stream(["Fine."]), Stream([f"w{i} " for i in range(40)], cut=10), Stream(["Good."]), Stream(["more"]))
    answered(page, server, "first")
    answered(page, server, "second")
    page.until(lambda: page.count(".warn") == 1)
    answered(page, server, "second again")
    reloaded(page)
    page.until(lambda: turns(page) == [["first", "second again"], ["Fine.", "Good."]])
    act(page, "‹")
    page.until(lambda: turns(page)[0] == ["first", "second"] and turns(page)[1][1].startswith("w0 w1 "))
    cut = turns(page)[1][1]
    act(page, "Continue")
    page.until(lambda: turns(page)[1][1] == cut + "more" and page.idle())


def test_a_failed_edit_leaves_what_there_was(page, server):
    server.on(CHAT, Stream(["One."]), Stream(["Two."]), error(500, "broke"))
    answered(page, server, "first")
    answered(page, server, "second")
    edit(page, "first", "changed")
    page.until(lambda: "broke" in page.text(".warn") and page.idle())
    page.check(turns(page) == [["first", "second"], ["One.", "Two."]], turns(page))
    page.check(page.one("#prompt").get_attribute("value") == "changed", "the edited text is gone")
    reloaded(page)
    page.until(lambda: turns(page) == [["first", "second"], ["One.", "Two."]])
    page.check(not page.count(".pager"), "a branch without an answer is left")


def test_a_question_whose_answer_had_not_begun_can_be_answered_after_a_reload(page, server):
    held = threading.Event()
    server.on(CHAT, Stream(["never"], gate=held))
    say(page, "first")
    page.until(lambda: len(server.asked[CHAT]) == 1)
    page.until(lambda: database(page, "return (await values('messages')).length") == 1)
    reloaded(page)
    held.set()
    page.until(lambda: turns(page)[0] == ["first"] and "was not answered" in page.text(".asked-tools"))
    server.on(CHAT, Stream(["Now."]))
    act(page, "Answer")
    page.until(lambda: turns(page)[1] == ["Now."] and page.idle())
    page.check(contents(server.asked[CHAT][0]) == ["first"] and "was not" not in page.text(".asked-tools"), server.asked[CHAT][0])


def test_an_answer_goes_on_while_another_chat_is_looked_at(page, server):
    held = threading.Event()
    server.on(CHAT, Stream(["slow ", "answer"], gate=held), Stream(["Quick."]))
    say(page, "first")
    page.until(lambda: "first · answering" in titles(page))
    page.press("#fresh")
    page.check(page.idle(), "another chat's answer could be stopped here")
    say(page, "second")
    page.until(lambda: turns(page)[1] == ["Quick."] and page.idle())
    page.check("first · answering" in titles(page), titles(page))
    held.set()
    page.until(lambda: set(titles(page)) == {"first", "second"})
    page.check(page.text("#said").startswith("first: "), page.text("#said"))
    page.run("[...document.querySelectorAll('.open-chat')].find((n) => n.textContent === 'first').click()")
    page.until(lambda: turns(page) == [["first"], ["slow answer"]])


def test_two_tabs_lose_no_turns_of_a_chat(page, server):
    server.on(CHAT, lambda asked: Stream([f"to {asked['messages'][-1]['content']}"]))
    answered(page, server, "first")
    one = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.driver.get(server.url)
    started(page)
    two = page.driver.current_window_handle
    page.check(page.count("#welcome"), "a new tab begins with another one's chat")
    page.press(".open-chat")
    page.until(lambda: turns(page)[1] == ["to first"])
    answered(page, server, "of two")
    page.driver.switch_to.window(one)
    page.until(lambda: turns(page) == [["first", "of two"], ["to first", "to of two"]])
    held = threading.Event()
    server.on(CHAT, Stream(["late"], gate=held), Stream(["soon"]))
    say(page, "of one")
    page.driver.switch_to.window(two)
    page.until(lambda: titles(page) == ["first · answering"])
    page.until(lambda: turns(page)[0] == ["first", "of two", "of one"])
    edit(page, "of two", "edited by two")
    page.until(lambda: turns(page) == [["first", "edited by two"], ["to first", "soon"]] and page.idle())
    held.set()
    page.driver.switch_to.window(one)
    page.until(lambda: turns(page) == [["first", "of two", "of one"], ["to first", "to of two", "late"]] and page.idle())
    reloaded(page)
    page.until(lambda: titles(page) == ["first"])
    said = sorted(m["content"] for m in exported(page)["chats"][0]["messages"])
    page.check(said == sorted(["first", "to first", "of two", "to of two", "of one", "late", "edited by two", "soon"]), said)
    choose(page, "first", "delete-chat")
    page.driver.switch_to.window(two)
    page.until(lambda: titles(page) == [] and page.count("#welcome") and "another tab" in told(page))


def test_a_chat_is_exported_as_markdown(page, server):
    server.on(CHAT, Stream(["Fine."]))
    answered(page, server, "first")
    text = downloaded(page, lambda: choose(page, "first", "export-markdown"))
    model = page.text("#model")
    page.check(text == f"# first\n\n## You\n\nfirst\n\n## {model}\n\nFine.\n", text)


def export_of(*messages, **chat):
    user = {"id": "u", "parent": None, "role": "user", "content": "hello", "created": 1}
    return {"format": "augur-chats", "version": 1, "chats": [{
        "id": "c", "title": "t", "named": False, "created": 1, "updated": 2, "leaf": None, "messages": [user, *messages], **chat}]}


ANSWER = {"id": "a", "parent": "u", "role": "assistant", "content": "yes", "created": 2, "reason": "stop"}


@pytest.mark.parametrize("content, said", [
    ("", "expected JSON"), ("{", "expected JSON"), ("[]", "expected an export"), ('{"messages":[]}', "expected an export"),
    ({**export_of(), "version": 2}, "a newer Augur wrote it"), ({**export_of(), "version": "1"}, "version: expected 1"),
    ({**export_of(), "chats": {}}, "chats: expected a list"), (export_of(title=7), "chats[0].title"), (export_of(messages=None), "chats[0].messages"),
    (export_of({**ANSWER, "role": "system"}), "chats[0].messages[1].role"), (export_of({**ANSWER, "content": None}), "chats[0].messages[1].content"),
    (export_of({**ANSWER, "parent": "gone"}), "chats[0].messages[1].parent"), (export_of({**ANSWER, "parent": "a"}), "chats[0].messages[1].parent"),
    (export_of({**ANSWER, "id": "u"}), "same id"), (export_of({**ANSWER, "created": "today"}), "chats[0].messages[1].created"),
    (export_of({**ANSWER, "role": "user"}), "chats[0].messages[1].parent"), (b"\xff\xfe\x00", "expected JSON"),
    (json.dumps(export_of()).replace('"c"', '"__proto__"')[:-1], "expected JSON")])
def test_a_foreign_or_damaged_export_is_a_line(page, content, said, tmp_path):
    file = tmp_path / "odd.json"
    file.write_bytes(content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode())
    give(page, "#import-file", file)
    page.until(lambda: told(page))
    page.check(told(page).startswith("odd.json is not imported: ") and said in told(page), told(page))
    page.check(titles(page) == [], "something came in")


def test_an_import_adds_what_is_not_there(page, tmp_path):
    for name, export in (("one", export_of(ANSWER)), ("two", export_of({**ANSWER, "content": "forged"}, {**ANSWER, "id": "b", "content": "no", "created": 3}))):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(export))
        give(page, "#import-file", file)
        page.until(lambda: f"1 chat of {name}.json came in" in told(page))
    said = sorted(m["content"] for m in exported(page)["chats"][0]["messages"])
    page.check(said == ["hello", "no", "yes"], said)
    reloaded(page)
    page.until(lambda: titles(page) == ["t"])
    page.press(".open-chat")
    page.until(lambda: turns(page)[0] == ["hello"] and "/2" in page.text(".more"))


def test_a_server_without_history_keeps_nothing(chat_stories, need, request):
    with Server(chat_stories, "--no-ui-history", "--no-log-requests") as running:
        with ScriptedServer(running, request.config.getoption("--page-files")) as server, Page(server.url, need, name="no-history") as page:
            started(page)
            page.until(lambda: "keeps no history" in told(page))
            server.on(CHAT, Stream(["Fine."]))
            answered(page, server, "first")
            page.set("prompt", "a draft")
            page.until(lambda: titles(page) == ["first"])
            page.press("#fresh")
            page.press(".open-chat")
            page.until(lambda: turns(page) == [["first"], ["Fine."]])
            kept = page.driver.execute_async_script("""
                const done = arguments[arguments.length - 1];
                indexedDB.databases().then((all) => done([all.map((d) => d.name), sessionStorage.getItem("augur-drafts")]));""")
            page.check(kept == [[], None], kept)
            reloaded(page)
            page.check(titles(page) == [] and page.count("#welcome"), "something was kept")
        running.close()


OPEN = "const asked = indexedDB.open('augur-chats', {version}); asked.onupgradeneeded = () => {{ {script} }}; asked.onsuccess = () => asked.result.close();"
DAMAGED_DATABASES = {
    "denied": "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('denied', 'SecurityError'); } })",
    "none": "Object.defineProperty(window, 'indexedDB', { value: undefined })",
    "no-transactions": "IDBDatabase.prototype.transaction = () => { throw new DOMException('gone', 'InvalidStateError'); }",
    "refused": "IDBFactory.prototype.open = () => { const r = new EventTarget(); r.error = new DOMException('x', 'UnknownError');"
               " setTimeout(() => r.onerror(), 10); return r; }",
    "full": "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }",
    "newer": OPEN.format(version=7, script=""),
    "foreign": OPEN.format(version=1, script="asked.result.createObjectStore('conversations')"),
    "other-keys": OPEN.format(version=1, script="for (const s of ['chats', 'messages', 'pieces']) asked.result.createObjectStore(s)"),
    "half": OPEN.format(version=1, script="asked.result.createObjectStore('chats', { keyPath: 'id' })"),
    "silent": "IDBFactory.prototype.open = () => new EventTarget()",
    "no-channel": "window.BroadcastChannel = class { constructor() { throw new DOMException('denied', 'SecurityError'); } }",
}


@pytest.mark.parametrize("kind", DAMAGED_DATABASES)
def test_a_browser_that_keeps_no_chats_is_a_line(opened, server, kind):
    server.on(CHAT, Stream(["Fine."]), Stream(["Good."]))
    page = opened("if (!window.done) { window.done = true; " + DAMAGED_DATABASES[kind] + " }")
    answered(page, server, "first")
    if kind != "no-channel":
        page.until(lambda: told(page))
    answered(page, server, "second")
    page.until(lambda: titles(page) == ["first"])
    page.press("#fresh")
    page.press(".open-chat")
    page.until(lambda: turns(page) == [["first", "second"], ["Fine.", "Good."]])
    log = [line for line in page.log() if "favicon" not in line["message"]]
    page.check(not log, f"the console says {log}")


GOOD = """const chat = { id: "c", title: "good", named: false, created: 1, updated: 2, leaf: "a" };
const user = { chat: "c", id: "u", parent: null, role: "user", content: "hello", created: 1, files: [], out: false };
const answer = { chat: "c", id: "a", parent: "u", role: "assistant", content: "yes", created: 2, reason: "stop" };
const piece = { chat: "c", id: "a", at: 0, json: JSON.stringify({ tokens: [["yes", 5, null, 0, 0]], rounds: [] }) };
await put("chats", chat); await put("messages", user, answer); await put("pieces", piece);
"""
# What is put over a chat that is good, what is seen of it then, and whether a line says that something is amiss.
DAMAGED_RECORDS = {
    "title-number": ("put('chats', { ...chat, id: 'd', title: 7 })", 1, True),
    "title-gone": ("put('chats', { id: 'd' })", 1, True),
    "title-long": ("put('chats', { ...chat, id: 'd', title: 'x'.repeat(50e6) })", 1, True),
    "time-nan": ("put('chats', { ...chat, id: 'd', updated: NaN })", 1, True),
    "time-far": ("put('chats', { ...chat, id: 'd', updated: 1e300 })", 1, True),
    "leaf-gone": ("put('chats', { ...chat, leaf: 'gone' })", 1, False),
    "leaf-number": ("put('chats', { ...chat, id: 'd', leaf: 3 })", 1, True),
    "parents-cyclic": ("put('messages', { ...user, id: 'x', parent: 'y' }, { ...answer, id: 'y', parent: 'x' })", 1, True),
    "parent-itself": ("put('messages', { ...answer, id: 'x', parent: 'x' })", 1, True),
    "parent-gone": ("put('messages', { ...answer, id: 'x', parent: 'gone' })", 1, True),
    "parent-object": ("put('messages', { ...answer, id: 'x', parent: {} })", 1, True),
    "answer-first": ("put('messages', { ...answer, id: 'x', parent: null })", 1, True),
    "answer-to-answer": ("put('messages', { ...answer, id: 'x', parent: 'a' })", 1, True),
    "role-odd": ("put('messages', { ...answer, id: 'x', role: 'tool' })", 1, True),
    "content-null": ("put('messages', { ...answer, id: 'x', content: null })", 1, True),
    "content-list": ("put('messages', { ...answer, id: 'x', content: [] })", 1, True),
    "content-50-mb": ("put('messages', { ...answer, id: 'x', content: 'x'.repeat(50e6) })", 1, True),
    "files-text": ("put('messages', { ...user, id: 'x', files: 'all' })", 1, True),
    "files-nameless": ("put('messages', { ...user, id: 'x', files: [{}] })", 1, True),
    "usage-text": ("put('messages', { ...answer, id: 'x', usage: 'much' })", 1, True),
    "timings-odd": ("put('messages', { ...answer, timings: { predicted_ms: 'long', predicted_n: {} } })", 1, False),
    "piece-no-json": ("put('pieces', { ...piece, json: '{' })", 1, False),
    "piece-other-text": ("put('pieces', { ...piece, json: JSON.stringify({ tokens: [['no', 5, null, 0, 0]], rounds: [] }) })", 1, False),
    "piece-truncated": ("put('pieces', { ...piece, json: JSON.stringify({ tokens: [['y']], rounds: [] }) })", 1, False),
    "piece-rounds-odd": ("put('pieces', { ...piece, json: JSON.stringify({ tokens: [['yes', 5, null, 0, 0]], rounds: [[1, { nodes: [{ parent: 9 }] }], 7, null] }) })", 1, False),
    "piece-null": ("put('pieces', { ...piece, json: null })", 1, False),
    "messages-only": ("put('messages', { ...user, chat: 'lost' })", 1, False),
}


@pytest.mark.parametrize("kind", DAMAGED_RECORDS)
def test_damaged_records_are_left_out(page, server, kind):
    script, count, says = DAMAGED_RECORDS[kind]
    done = database(page, GOOD + "await " + script + "; return 'done'")
    page.check(done == "done", done)
    reloaded(page)
    page.until(lambda: titles(page) == ["good"] * count)
    page.press(".open-chat")
    page.until(lambda: turns(page) == [["hello"], ["yes"]])
    page.until(lambda: bool(told(page)) == says)
    server.on(CHAT, Stream(["Fine."]))
    answered(page, server, "and?")
    page.check(contents(server.asked[CHAT][0]) == ["hello", "yes", "and?"], server.asked[CHAT][0])


@pytest.mark.parametrize("where, name, value", [
    ("sessionStorage", "augur-drafts", "{"), ("sessionStorage", "augur-drafts", "7"), ("sessionStorage", "augur-drafts", '[["x"]]'),
    ("sessionStorage", "augur-drafts", '[[7,{"content":{}}]]'), ("sessionStorage", "augur-drafts", "null"),
    ("sessionStorage", "augur-chat", "x" * 10 ** 6), ("sessionStorage", "augur-chat", ""), ("localStorage", "augur-chats-list", "ajar"),
    ("localStorage", "augur-settings", '{"schema":"{","stops":7,"top-k":"1.5"}'), ("localStorage", "augur-settings", "x" * 5 * 10 ** 6)])
def test_damaged_notes_are_a_line_at_most(opened, server, where, name, value):
    page = opened(f"try {{ {where}.setItem({name!r}, {value!r}) }} catch {{}}")
    if name in ("augur-drafts", "augur-settings") and len(value) < 10 ** 6:
        page.until(lambda: told(page))
    server.on(CHAT, Stream(["Fine."]))
    answered(page, server, "first")
    page.until(lambda: turns(page) == [["first"], ["Fine."]])


LATE = """
const open = IDBFactory.prototype.open;
IDBFactory.prototype.open = function (...of) {
  const asked = {};
  window.openNow = () => {
    const request = open.apply(this, of);
    for (const event of ["onupgradeneeded", "onblocked", "onerror", "onsuccess"])
      request[event] = (news) => { asked.result = request.result; asked[event]?.(news); };
  };
  return asked;
}"""


def test_a_browser_that_opens_the_database_late_keeps_what_was_said_meanwhile(opened, server):
    server.on(CHAT, Stream(["Fine."]))
    page = opened(LATE)
    page.until(lambda: "takes long" in told(page))
    answered(page, server, "first")
    page.driver.execute_script("openNow()")
    page.until(lambda: "keeps chats now" in told(page))
    answered(page, server, "second")
    page.driver.refresh()
    page.until(lambda: page.driver.execute_script("return typeof openNow === 'function'"))
    page.driver.execute_script("openNow()")
    page.until(lambda: turns(page) == [["first", "second"], ["Fine.", "Fine."]])


def test_a_tab_that_wants_the_database_gets_it_and_the_page_goes_on(page, server):
    server.on(CHAT, Stream(["Fine."]))
    answered(page, server, "first")
    own = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.driver.get(server.url + "icon.svg")
    newer = page.driver.execute_async_script("""
        const done = arguments[0], asked = indexedDB.open("augur-chats", 9);
        asked.onsuccess = () => done("open"); asked.onerror = () => done("failed");""")
    page.check(newer == "open", newer)
    page.driver.switch_to.window(own)
    page.until(lambda: "Another tab" in told(page))
    answered(page, server, "second")
    page.until(lambda: turns(page) == [["first", "second"], ["Fine.", "Fine."]])

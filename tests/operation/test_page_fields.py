"""The chat page's settings for sampling, its JSON schema, and files that go with a message."""
import json

import pytest

from browser_page import Page
from scripted_server import Answer, Stream, error

CHAT = "/v1/chat/completions"
NUMBERS = {"top-k": ("top_k", 40, ["-1", "1.5"]), "min-p": ("min_p", 0.05, ["1.1", "-0.1"]), "repeat-penalty": ("repeat_penalty", 1.1, ["0", "-1"]),
           "presence-penalty": ("presence_penalty", -0.5, ["101"]), "frequency-penalty": ("frequency_penalty", 0.5, ["-101"])}


@pytest.fixture
def page(server, need, request):
    with Page(server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots")) as opened:
        opened.until(lambda: opened.all("#state dd") and opened.count("#drafter option") > 1)
        yield opened


def sent(page, server, text="first"):
    server.on(CHAT, Stream(["Fine."]))
    page.ask(text)
    page.until(lambda: len(server.asked[CHAT]) == 1 and page.idle())
    return server.asked[CHAT][0]


def told(page):
    return page.text("#told")


def drop(page, target, kind, *files):
    """Files that are dropped or pasted: name, and bytes as a list of numbers."""
    page.run("""
        const data = new DataTransfer();
        for (const [name, bytes] of arguments[2]) data.items.add(new File([new Uint8Array(bytes)], name));
        // Firefox lets no script give a ClipboardEvent files.
        const event = arguments[1] === "paste" ? Object.defineProperty(new Event("paste", { bubbles: true, cancelable: true }), "clipboardData", { value: data })
            : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
        document.querySelector(arguments[0]).dispatchEvent(event);""", target, kind, [[name, list(content)] for name, content in files])


def attached(page):
    return page.run("return [...document.querySelectorAll('#files li > span:first-child')].map((n) => n.textContent)")


def test_fields_that_are_empty_are_the_servers(page, server):
    asked = sent(page, server)
    page.check(set(asked) - {"authorization"} == {"messages", "stream", "stream_options", "timings_per_token", "return_speculation"}, asked)
    page.check("40" in page.one("#top-k").get_attribute("placeholder"), page.one("#top-k").get_attribute("placeholder"))


def test_each_id_is_one_element(page):
    ids = page.run("return [...document.querySelectorAll('[id]')].map((n) => n.id)")
    page.check(len(ids) == len(set(ids)), sorted(ids))


def test_fields_are_sent_and_remembered(page, server):
    for field, (_, value, odd) in NUMBERS.items():
        for wrong in odd:
            page.set(field, wrong)
            page.check("Expected" in page.text(f"#{field}-wrong"), f"{field} {wrong} was taken")
        page.set(field, value)
        page.check(not page.text(f"#{field}-wrong"), f"{field} {value} was refused")
    page.set("stops", "END\n\nUser:\\nNo")
    page.driver.refresh()
    page.until(lambda: page.all("#state dd"))
    asked = sent(page, server)
    page.check({name: asked[name] for name, _, _ in NUMBERS.values()} == {name: value for name, value, _ in NUMBERS.values()}, asked)
    page.check(asked["stop"] == ["END", "User:\nNo"], asked["stop"])


def test_a_schema_is_checked_where_it_is_typed_and_by_the_server(page, server, behind):
    for odd in ("{", "[]", "7", "{'type': 1}", '"text"', "null"):
        page.set("schema", odd)
        page.check("Expected" in page.text("#schema-wrong"), f"{odd} was taken")
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"], "additionalProperties": False}
    page.set("schema", json.dumps(schema))
    page.check(not page.text("#schema-wrong"), page.text("#schema-wrong"))
    page.check(sent(page, server)["response_format"]["json_schema"]["schema"] == schema, server.asked[CHAT])
    server.script.clear()
    page.ask("a colour")
    page.until(lambda: page.count(".answer-text") == 2 and page.idle() and not page.count(".warn"))
    page.check(json.loads(page.text(".answer-text"))["colour"] in ("red", "blue"), page.text(".answer-text"))
    page.set("schema", '{"type": "nothing"}')
    page.ask("another")
    page.until(lambda: page.count(".warn") == 1 and page.idle())
    page.check(page.text("#schema-wrong") and page.one("#schema-wrong").is_displayed(), "the refusal isn't at the schema")
    page.set("schema", "")
    page.check(not page.text("#schema-wrong"), "the refusal stays")


def test_an_answer_under_a_schema_does_not_go_on(page, server):
    server.on(CHAT, Stream(['{"a": ']))
    server.script[CHAT][0].reason = "length"
    page.set("schema", '{"type": "object"}')
    page.ask("first")
    page.until(lambda: len(server.asked[CHAT]) == 1 and page.idle())
    page.run("[...document.querySelectorAll('.more button')].find((b) => b.textContent === 'Continue').click()")
    page.until(lambda: "cannot go on" in told(page))
    page.check(len(server.asked[CHAT]) == 1, "it was asked")


def test_the_server_refuses_a_field_at_the_field(page, server):
    server.on(CHAT, Answer(400, {"error": {"message": "top_k: not with me", "param": "top_k", "type": "x"}}))
    page.ask("first")
    page.until(lambda: page.text("#top-k-wrong") == "top_k: not with me" and page.one("#top-k-wrong").is_displayed())


def test_files_go_with_a_message(page, server, tmp_path):
    code = tmp_path / "a.py"
    code.write_text("print('a')\n```\n")
    page.one("#attach-file").send_keys(str(code))
    page.until(lambda: attached(page) == ["a.py"])
    drop(page, "#prompt", "paste", ("b.txt", "grüße".encode()))
    page.until(lambda: attached(page) == ["a.py", "b.txt"])
    drop(page, "main", "drop", ("c`\n.md", b"# c\r\n"), ("d.txt", b"\xef\xbb\xbfd"))
    page.until(lambda: attached(page) == ["a.py", "b.txt", "c.md", "d.txt"])
    page.until(lambda: page.text("#files").count("tokens") == 4)
    page.press("#files li:last-child button")
    page.until(lambda: attached(page) == ["a.py", "b.txt", "c.md"])
    page.driver.refresh()
    page.until(lambda: attached(page) == ["a.py", "b.txt", "c.md"] and page.all("#state dd"))
    asked = sent(page, server, "what is this?")
    page.check(asked["messages"] == [{"role": "user", "content":
               "a.py:\n````\nprint('a')\n```\n````\n\nb.txt:\n```\ngrüße\n```\n\nc.md:\n```\n# c\n```\n\nwhat is this?"}], asked["messages"])
    page.check(attached(page) == [], "the files stay in the composer")
    page.check(page.text(".asked summary").startswith("c.md"), page.text(".asked"))
    page.driver.refresh()
    page.until(lambda: page.count(".asked details") == 3)


def test_files_of_a_failed_message_come_back(page, server):
    drop(page, "main", "drop", ("b.txt", b"b"))
    page.until(lambda: attached(page) == ["b.txt"])
    server.on(CHAT, error(500, "broke"))
    page.ask("first")
    page.until(lambda: page.count(".warn") == 1 and page.idle())
    page.check(attached(page) == ["b.txt"] and page.one("#prompt").get_attribute("value") == "first", attached(page))


@pytest.mark.parametrize("content, said", [
    (b"\x7fELF\x00\x00", "is binary"), (b"gr\xfc\xdfe", "is no text in UTF-8"), (b"\xff\xfea\x00", "is no text in UTF-8"), (b"", "is empty"),
    (b" \n", "is empty"), (b"\xed\xa0\x80", "is no text in UTF-8"), (None, "at most 1")])
def test_a_file_that_is_no_text_is_a_line(page, server, content, said):
    if content is None:
        page.run("""const data = new DataTransfer();
            data.items.add(new File(["x".repeat(2 ** 20 + 1)], "odd.bin"));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));""")
    else:
        drop(page, "main", "drop", ("odd.bin", content), ("good.txt", b"good"))
    page.until(lambda: told(page).startswith("odd.bin ") and said in told(page))
    page.until(lambda: attached(page) == ([] if content is None else ["good.txt"]))


def test_a_message_takes_at_most_20_files(page):
    drop(page, "main", "drop", *[(f"{i}.txt", b"x") for i in range(22)])
    page.until(lambda: "20.txt is one too many" in told(page) and "21.txt" in told(page))
    page.check(len(attached(page)) == 20, attached(page))

"""The chat page where the server behind its address is replaced, or is away for a while."""
import pytest

from augur_server import STORIES, Server
from browser_page import Page
from scripted_server import ScriptedServer

LACKS = "This server has no drafter draft: its own are used."


@pytest.fixture(scope="module")
def first(chat_stories):
    """With a drafter that the others don't have."""
    with Server(chat_stories, "-md", STORIES, "--alias", "first", "--no-log-requests") as running:
        yield running


@pytest.fixture
def server(first, request):
    with ScriptedServer(first, request.config.getoption("--page-files")) as scripted:
        yield scripted


@pytest.fixture
def page(server, need):
    """Where that drafter is chosen, and a message is answered."""
    with Page(server.url, need, name="servers") as page:
        page.until(lambda: page.text("#model") == "first" and page.count("#drafter option[value=draft]"))
        page.set("drafter", "draft")
        page.set("max-tokens", "8")
        answered(page, "Once upon a time")
        yield page


def answered(page, text):
    turns = page.count(".turn")
    page.ask(text)
    page.until(lambda: page.count(".turn") == turns + 1 and page.idle())
    page.until(lambda: "tokens/s" in page.text(".turn:last-child .figures"))
    page.check(not page.count(".warn"), page.text(".warn"))


def left(page):
    page.until(lambda: "tokens left" in page.text("#context-left"))
    return int(page.text("#context-left").split()[0])


def test_another_model_behind_the_same_address_is_said(page, server, chat_stories):
    page.until(lambda: 256 < left(page) < 512)
    page.check(not page.text("#told"), page.text("#told"))
    with Server(chat_stories, "--alias", "second", "-c", "128", "--spec-type", "ngram", "--no-log-requests") as second:
        server.behind = second
        page.until(lambda: page.text("#told") == f"Another model answers now: second. {LACKS}")
        page.check((page.text("#model"), page.driver.title) == ("second", "Augur: second"), page.text("#model"))
        page.check(page.run("return [document.getElementById('drafter').value, document.querySelectorAll('#drafter [value=draft]').length]") == ["", 0],
                   "the old server's drafter is still there")
        page.check(page.text("#drafter option") and "ngram" in page.run("return document.getElementById('drafter').options[0].textContent"), "its own")
        page.until(lambda: 0 < left(page) < 128)
        answered(page, "and then")
        page.check(second.load()["prompt_tokens"] > 0, "the second did not answer")
        page.check(not page.log(), "the console says something")


def test_the_same_model_with_other_drafters_is_noticed(page, server, chat_stories):
    with Server(chat_stories, "--alias", "first", "--spec-type", "ngram", "--no-log-requests") as second:
        server.behind = second
        page.until(lambda: page.text("#told") == LACKS)
        answered(page, "and then")


def test_a_server_goes_away_and_comes_back(page, server):
    server.gone = True
    page.until(lambda: "lost" in page.one("#state").get_attribute("class"))
    page.check(page.text("#model") == "first", f"the model is '{page.text('#model')}'")
    page.ask("and then")
    page.until(lambda: "cannot be reached" in page.text(".warn") and page.idle())
    page.check(page.one("#prompt").get_attribute("value") == "and then", "the text didn't come back")
    server.gone = False
    page.until(lambda: "lost" not in page.one("#state").get_attribute("class"))
    page.ask("")
    page.until(lambda: page.count(".turn") == 2 and page.idle() and "tokens/s" in page.text(".turn:last-child .figures"))
    page.check(not page.count(".warn") and not page.text("#told"), page.text(".warn") + page.text("#told"))
    page.check(page.one("#drafter").get_attribute("value") == "draft", "the chosen drafter was forgotten")

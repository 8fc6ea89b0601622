"""What the tests of operation share."""
import pytest

from augur_server import Server
from browser_page import Page
from browsers import BROWSERS, FirefoxTab
from scripted_server import ScriptedServer


@pytest.fixture
def model(request):
    return request.config.getoption("--model")


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames or getattr(metafunc.module, "Page", None) is Page:
        metafunc.parametrize("browser", metafunc.config.getoption("--browser") or BROWSERS, indirect=True, scope="module")


@pytest.fixture(autouse=True, scope="module")
def browser(request):
    """The browser that pages are opened in: tests that open some run once in each."""
    Page.kind = getattr(request, "param", Page.kind)
    yield Page.kind
    FirefoxTab.end()


@pytest.fixture(scope="module")
def behind(chat_stories):
    """A server of the little stories model."""
    with Server(chat_stories, "--spec-type", "ngram", "--no-log-requests") as running:
        yield running
        running.close()


@pytest.fixture
def server(behind, request):
    """That server, but for what the test writes itself."""
    with ScriptedServer(behind, request.config.getoption("--page-files")) as scripted:
        yield scripted


@pytest.fixture
def page(server, need, request):
    """The chat page of it."""
    with Page(server.url, need, name=request.node.name, folder=request.config.getoption("--screenshots")) as opened:
        opened.until(lambda: opened.all("#state dd"))
        yield opened

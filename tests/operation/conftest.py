"""What the tests of operation share."""
import pytest

from browser_page import Page
from browsers import BROWSERS, FirefoxTab


@pytest.fixture
def model(request):
    return request.config.getoption("--model")


def pytest_generate_tests(metafunc):
    if getattr(metafunc.module, "Page", None) is Page:
        metafunc.parametrize("browser", metafunc.config.getoption("--browser") or BROWSERS, indirect=True, scope="module")


@pytest.fixture(autouse=True, scope="module")
def browser(request):
    """The browser that pages are opened in: tests that open some run once in each."""
    Page.kind = getattr(request, "param", Page.kind)
    yield Page.kind
    FirefoxTab.end()

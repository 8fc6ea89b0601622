"""A page in a headless browser."""
import re

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from augur_server import PATIENCE
from browsers import BROWSERS

TOKENS = "localStorage.setItem('augur-view', 'tokens')"  # before the chat page: it shows answers as tokens, not as text


class Page:
    """Opened by the constructor. `before`: a script that runs before those of the page.

    kind: the browser's name in BROWSERS. The fixture `browser` of tests/operation sets it for each test that has
    the fixture `page`, and of a module that has this class: every such test runs in every browser."""
    kind = "chromium"

    def __init__(self, url, need, size=(1280, 860), theme="light", name="page", folder=None, before=None):
        self.name = f"{name}-{self.kind}"
        self.folder = folder
        self.browser = BROWSERS[self.kind](need)
        self.driver = self.browser.driver
        self.browser.size(*size)
        self.theme = theme
        self.media({})
        if before:
            self.browser.before(before)
        self.driver.get(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def media(self, features):
        """Beside the theme."""
        self.browser.media({"prefers-color-scheme": self.theme, **features})

    def log(self):
        """What the console said since it was last asked."""
        return self.browser.log()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def until(self, condition):
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.1).until(lambda _: condition())

    def press(self, selector):
        """A click that doesn't wait until the page draws nothing, as the driver's does."""
        self.run("document.querySelector(arguments[0]).click()", selector)

    def text(self, selector):
        """Of the last element that fits."""
        return self.run("return [...document.querySelectorAll(arguments[0])].at(-1)?.textContent ?? ''", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def shot(self, what):
        if self.folder:
            self.driver.save_screenshot(str(self.folder / (re.sub(r"[^\w.-]+", "-", f"{self.name}-{what}") + ".png")))

    def set(self, field, value):
        self.run("const n = document.getElementById(arguments[0]); n.value = arguments[1];"
                 "n.dispatchEvent(new Event('input'));", field, str(value))

    def idle(self):
        return not self.one("#stop").is_displayed()

    def ask(self, text, button=None):
        box = self.one("#prompt")
        box.send_keys(text)
        box.send_keys(Keys.ENTER) if button is None else self.one(button).click()

    def check(self, condition, what):
        if not condition:
            self.shot("failed")
            raise AssertionError(f"{self.name}: {what}")

    def wider(self):
        return self.run("return document.documentElement.scrollWidth > innerWidth")

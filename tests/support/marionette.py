"""Selenium's driver of a Firefox that is spoken to by its own protocol, Marionette, as geckodriver does, which Debian
doesn't have."""
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.firefox.options import Options
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.remote_connection import RemoteConnection

from augur_server import PATIENCE

# Marionette's names of Selenium's commands, behind "WebDriver:".
NAMES = {
    Command.NEW_SESSION: "NewSession", Command.QUIT: "DeleteSession", Command.GET: "Navigate", Command.GO_BACK: "Back",
    Command.GO_FORWARD: "Forward", Command.REFRESH: "Refresh", Command.GET_CURRENT_URL: "GetCurrentURL",
    Command.GET_TITLE: "GetTitle", Command.GET_PAGE_SOURCE: "GetPageSource", Command.SCREENSHOT: "TakeScreenshot",
    Command.W3C_EXECUTE_SCRIPT: "ExecuteScript", Command.W3C_EXECUTE_SCRIPT_ASYNC: "ExecuteAsyncScript",
    Command.SET_TIMEOUTS: "SetTimeouts", Command.W3C_ACTIONS: "PerformActions", Command.W3C_CLEAR_ACTIONS: "ReleaseActions",
    Command.FIND_ELEMENT: "FindElement", Command.FIND_ELEMENTS: "FindElements", Command.FIND_CHILD_ELEMENT: "FindElement",
    Command.FIND_CHILD_ELEMENTS: "FindElements", Command.W3C_GET_ACTIVE_ELEMENT: "GetActiveElement",
    Command.CLICK_ELEMENT: "ElementClick", Command.CLEAR_ELEMENT: "ElementClear",
    Command.SEND_KEYS_TO_ELEMENT: "ElementSendKeys", Command.GET_ELEMENT_TEXT: "GetElementText",
    Command.GET_ELEMENT_TAG_NAME: "GetElementTagName", Command.GET_ELEMENT_RECT: "GetElementRect",
    Command.GET_ELEMENT_PROPERTY: "GetElementProperty", Command.GET_ELEMENT_ATTRIBUTE: "GetElementAttribute",
    Command.GET_ELEMENT_VALUE_OF_CSS_PROPERTY: "GetElementCSSValue", Command.IS_ELEMENT_SELECTED: "IsElementSelected",
    Command.IS_ELEMENT_ENABLED: "IsElementEnabled", Command.SWITCH_TO_FRAME: "SwitchToFrame",
    Command.SWITCH_TO_PARENT_FRAME: "SwitchToParentFrame", Command.SWITCH_TO_WINDOW: "SwitchToWindow",
    Command.CLOSE: "CloseWindow", Command.W3C_GET_CURRENT_WINDOW_HANDLE: "GetWindowHandle",
    Command.W3C_GET_WINDOW_HANDLES: "GetWindowHandles", Command.W3C_GET_ALERT_TEXT: "GetAlertText",
    Command.W3C_ACCEPT_ALERT: "AcceptAlert", Command.W3C_DISMISS_ALERT: "DismissAlert",
}
# The capability that asks for WebDriver BiDi, which Selenium takes for what Marionette has no command for.
SESSION = {"webSocketUrl": True, "unhandledPromptBehavior": "ignore"}


class Connection(RemoteConnection):
    """What Selenium takes for a WebDriver server: sends its commands to Marionette.

    A message is its length, a colon, and JSON: [0, number, name, parameters], answered by [1, number, error, result]."""

    def __init__(self, port):
        super().__init__(client_config=ClientConfig(remote_server_addr="http://127.0.0.1"))
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=2 * PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.number = 0
        self.receive()  # who is there

    def receive(self):
        length = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise ConnectionError("Firefox has ended")
            length += byte
        return json.loads(self.stream.read(int(length)))

    def send(self, name, parameters):
        """(error, result), one of which is None."""
        self.number += 1
        message = json.dumps([0, self.number, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        return self.receive()[2:]

    def execute(self, command, params):
        given = {name: value for name, value in params.items() if name != "sessionId"}
        if command == Command.NEW_SESSION:
            given = SESSION
        elif command in (Command.W3C_EXECUTE_SCRIPT, Command.W3C_EXECUTE_SCRIPT_ASYNC):
            given["sandbox"] = None  # the page's own globals, not a view of them
        elif command in (Command.FIND_CHILD_ELEMENT, Command.FIND_CHILD_ELEMENTS):
            given["element"] = given.pop("id")
        elif command == Command.SCREENSHOT:
            given["full"] = False
        error, result = self.send("WebDriver:" + NAMES[command], given)
        if error:
            return {"status": 500, "value": json.dumps({"value": error})}
        return result if isinstance(result, dict) and "value" in result else {"value": result}

    def close(self):
        self.stream.close()
        self.socket.close()


class Firefox(webdriver.Remote):
    """A process of its own, with a profile of its own; ended by quit().

    container: whose storage new tabs have (a user context of WebDriver BiDi)."""

    def __init__(self, program):
        self.container = None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="augur-firefox-"))
        (self.folder / "user.js").write_text('user_pref("marionette.port", 0);\nuser_pref("network.dns.localDomains", "rebound.test");\n')
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", self.folder, "--marionette", "--remote-allow-system-access",
             "--remote-debugging-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            super().__init__(Connection(self.port()), options=Options())
        except BaseException:
            self.end()
            raise
        self._is_remote = False  # it reads files that are given to a page itself

    def port(self):
        place = self.folder / "MarionetteActivePort"
        end = time.monotonic() + PATIENCE
        while not (place.exists() and place.read_text()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Firefox did not begin to listen (exit status {self.process.poll()})")
            time.sleep(0.02)
        return int(place.read_text())

    def execute(self, driver_command, params=None):
        if driver_command == Command.NEW_WINDOW:  # Marionette's knows no containers
            return {"value": {"handle": self.browsing_context.create(type="tab", user_context=self.container)}}
        return super().execute(driver_command, params)

    def inside(self, script, *arguments):
        """Runs a script with the browser's own rights, not the page's."""
        self.command_executor.send("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.execute_script(script, *arguments)
        finally:
            self.command_executor.send("Marionette:SetContext", {"value": "content"})

    def beside(self, script):
        """Runs a script of the page's window that the page does not see, with the browser's rights. What it gives to
        names without `const` or `let` stays for the next."""
        error, result = self.command_executor.send("WebDriver:ExecuteScript", {
            "script": script, "args": [], "sandbox": "system", "newSandbox": False})
        assert not error, error
        return result["value"]

    def quit(self):
        try:
            super().quit()
        finally:
            self.end()

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

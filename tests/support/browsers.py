"""The browsers in which tests open pages, headless: what each does in a way of its own.

A browser is opened by the constructor as a driver of Selenium's (`driver`), ended by close(), and has
media(features): as CSS names them; size(width, height): of the view, in pixels; before(script): runs in each page before
its own scripts; log(): what its console said since it was last asked; layouts(): those of the page so far."""
from selenium import webdriver

from marionette import Firefox


class Chromium:
    def __init__(self, need):
        options = webdriver.ChromeOptions()
        options.binary_location = need("chromium", "chromium")
        for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", "--host-resolver-rules=MAP *.test 127.0.0.1"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(need("chromedriver", "chromium-driver"))
        self.driver = webdriver.Chrome(options=options, service=service)

    def close(self):
        self.driver.quit()

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def media(self, features):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name, "value": value} for name, value in features.items()]})

    def before(self, script):
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def log(self):
        return self.driver.get_log("browser")

    def layouts(self):
        self.driver.execute_cdp_cmd("Performance.enable", {})
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(int(m["value"]) for m in metrics if m["name"] == "LayoutCount")


# Firefox' preferences for features of media.
MEDIA = {
    "prefers-color-scheme": ("layout.css.prefers-color-scheme.content-override", {"dark": 0, "light": 1}),
    "forced-colors": ("browser.display.document_color_use", {"none": 0, "active": 2}),
    "prefers-reduced-motion": ("ui.prefersReducedMotion", {"no-preference": 0, "reduce": 1}),
}


# What a page says itself, kept in the page.
LISTEN = """() => {
    window.said_by_page = [];
    for (const level of ["debug", "log", "info", "warn", "error"]) {
        const write = console[level];
        console[level] = (...said) => { window.said_by_page.push({ level, message: said.join(" ") }); write.apply(console, said); };
    } }"""


class FirefoxTab:
    """A tab, and those opened from it, in a Firefox that is used again for the next; its storage is its own (a
    container)."""
    idle = []  # processes that no tab uses

    def __init__(self, need):
        program = need("firefox-esr", "firefox-esr")
        self.driver = self.idle.pop() if self.idle else Firefox(program)
        self.home = self.driver.current_window_handle
        self.driver.container = self.driver.browser.create_user_context()
        self.driver.switch_to.new_window("tab")
        self.driver.inside("Services.console.reset()")
        self.pinned = [self.driver.script.pin(LISTEN)]

    def close(self):
        driver = self.driver
        try:
            for script in self.pinned:
                driver.script.unpin(script)
            driver.inside("for (const name of arguments[0]) Services.prefs.clearUserPref(name)", [name for name, _ in MEDIA.values()])
            driver.browser.remove_user_context(driver.container)  # closes its tabs
            driver.switch_to.window(self.home)
        except BaseException:
            driver.end()
            raise
        self.idle.append(driver)

    @classmethod
    def end(cls):
        """Ends the processes that no tab uses."""
        while cls.idle:
            cls.idle.pop().quit()

    def size(self, width, height):
        self.driver.browsing_context.set_viewport(context=self.driver.current_window_handle, viewport={"width": width, "height": height})

    def media(self, features):
        chosen = [[MEDIA[name][0], MEDIA[name][1][value]] for name, value in features.items()]
        self.driver.inside("for (const [name, value] of arguments[0]) Services.prefs.setIntPref(name, value)", chosen)

    def before(self, script):
        self.pinned.append(self.driver.script.pin(f"() => {{ {script} }}"))

    def log(self):
        """What the page writes itself, and errors and warnings of its scripts, styles and policies."""
        return self.driver.execute_script("return (window.said_by_page ?? []).splice(0)") + self.driver.inside("""
            const found = Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError
                && /^http/.test(m.sourceName)).map((m) => ({ level: m.logLevel, message: m.toString() }));
            Services.console.reset();
            return found;""")

    def layouts(self):
        return self.driver.beside("""
            if (typeof layouts === "undefined") {
                layouts = 0;
                observer = { reflow: () => { ++layouts; }, reflowInterruptible: () => { ++layouts; },
                    QueryInterface: ChromeUtils.generateQI(["nsIReflowObserver", "nsISupportsWeakReference"]) };
                window.docShell.addWeakReflowObserver(observer);
            }
            return layouts;""")


BROWSERS = {"chromium": Chromium, "firefox": FirefoxTab}

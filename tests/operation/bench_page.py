"""How fast the chat page is in both browsers; no test, and not run with the tests.

  tests/run_pytest.sh -q tests/operation/bench_page.py [--browser chromium] [--requests 3]

An answer of 5,000 tokens from a server of SmolLM2, and scripted ones at 2,000 tokens/s, as text and as tokens; Stop at
random moments. --requests: how many of each, of which medians are shown; of stops three times as many. Bars: from Send to
the end at most 1.1 times what the server took for the request; no task of the page above 100 ms (in Firefox, which tells
no tasks: no delay of a timer); Stop ends the server's request within 0.3 s. Fails where one is missed. Times mean something on
a machine that does nothing else.
"""
import random
import re
import statistics
import time

import pytest

from augur_server import PATIENCE, Server, eventually
from browser_page import Page
from scripted_server import Stream

CHAT = "/v1/chat/completions"
COUNT, SPEED = 5000, 2000
TEXT = """## Section

Some *text* with **bold** words, a [link](https://example.org/) and `code`, which goes on for a while, as answers do.

- a list
- of three points
- with text in each

```c
int main(void) { return 0; }
```

| name | value |
| --- | --- |
| a | 1 |

"""
PROMPT = "Write a very long story of a river, with many chapters."

# Answers go on to their limit; window.longest: ms that the page did not listen.
BEFORE = """
    const send = window.fetch;
    window.fetch = (url, options) => send(url, url === "/v1/chat/completions" ? { ...options, body: JSON.stringify({ ...JSON.parse(options.body), ignore_eos: true }) } : options);
    window.longest = 0;
    if (PerformanceObserver.supportedEntryTypes.includes("longtask")) {
        new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) longest = Math.max(longest, duration); }).observe({ type: "longtask" });
    } else {
        let last = performance.now();
        setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last - 10); last = now; }, 10);
    }
    try { localStorage.setItem("augur-view", "VIEW"); } catch { /* about:blank has none */ }"""

ASK = """
    const begun = performance.now(), stop = document.getElementById("stop"), prompt = document.getElementById("prompt");
    window.longest = 0;
    window.took = null;
    new MutationObserver((_, observer) => {
        if (!stop.hidden) return;
        window.took = performance.now() - begun;
        observer.disconnect();
    }).observe(stop, { attributes: true, attributeFilter: ["hidden"] });
    prompt.value = arguments[0];
    document.getElementById("composer").requestSubmit();"""


class Paced(Stream):
    """At SPEED tokens a second. took: seconds, once it has ended."""

    def events(self):
        begun, count = time.monotonic(), 0
        for event in super().events():
            yield event
            count += "timings" in event
            if count % 20 == 0 and (late := begun + count / SPEED - time.monotonic()) > 0:
                time.sleep(late)
        self.took = time.monotonic() - begun


@pytest.fixture
def runs(request):
    return request.config.getoption("--requests") or 3


@pytest.fixture
def open_page(need):
    pages = []

    def opened(url, view="text"):
        page = Page(url, need, name=f"bench-{view}", before=BEFORE.replace("VIEW", view))
        pages.append(page)
        page.until(lambda: page.all("#state dd") and page.count("#drafter option") > 1)
        page.set("temperature", "0")
        return page
    yield opened
    for page in pages:
        page.__exit__()


def answer(page, prompt=PROMPT):
    """(seconds, ms of the longest task)"""
    page.press("#fresh")
    page.run(ASK, prompt)
    page.until(lambda: page.run("return window.took !== null"))
    page.check(not page.count(".warn"), page.text(".warn"))
    took, longest = page.run("return [window.took / 1000, window.longest]")
    return took, longest


def latency(server):
    return float(re.search(r"^vllm:e2e_request_latency_seconds_sum\S* (\S+)$", server.get("/metrics"), re.M)[1])


def shown(say, page, what, rows):
    """rows: (the page's seconds, the server's, longest task)"""
    print(page.kind, what, [[round(figure, 3) for figure in row] for row in rows], flush=True)
    ratio, longest = statistics.median(p / s for p, s, _ in rows), max(row[2] for row in rows)
    page_s, server_s = (statistics.median(row[i] for row in rows) for i in (0, 1))
    say(f"{page.kind} {what}: page {page_s:.2f} s, server {server_s:.2f} s, ratio {ratio:.3f}, longest task {longest:.0f} ms")
    return [f"{what}: {name}" for name, missed in ((f"ratio {ratio:.3f}", ratio > 1.1), (f"task of {longest:.0f} ms", longest > 100)) if missed]


def stopped(say, page, what, times):
    print(page.kind, what, [round(figure, 3) for figure in times], flush=True)
    say(f"{page.kind} {what}: median {1000 * statistics.median(times):.0f} ms, longest {1000 * max(times):.0f} ms of {len(times)}")
    return [f"{what}: {max(times):.2f} s"] if max(times) > 0.3 else []


def test_scripted_answers(server, open_page, runs, say):
    missed, pieces = [], (re.findall(r"\s*\S+", TEXT) * COUNT)[:COUNT]
    for view in ("text", "tokens"):
        page, rows, times = open_page(server.url, view), [], []
        for _ in range(runs):
            paced = Paced(pieces)
            server.on(CHAT, paced)
            took, longest = answer(page)
            page.check(page.text(".figures").find(f"{COUNT} tokens") >= 0, page.text(".figures"))
            rows.append((took, paced.took, longest))
        missed += shown(say, page, f"{COUNT} scripted tokens, {view}", rows)
        for _ in range(3 * runs):
            paced = Paced(pieces * 20)
            server.on(CHAT, paced)
            page.press("#fresh")
            page.run(ASK, PROMPT)
            until = random.randrange(100, COUNT)
            eventually(lambda: paced.sent > until, "tokens")
            begun = time.monotonic()
            page.press("#stop")
            page.check(paced.done.wait(PATIENCE) and paced.left, "it was not stopped")
            times.append(time.monotonic() - begun)
            page.until(page.idle)
        missed += stopped(say, page, f"Stop, scripted, {view}", times)
    assert not missed, missed


def test_real_answers(smollm2, open_page, runs, say):
    with Server(smollm2, "--no-log-requests") as server:
        page, rows, times = open_page(server.url), [], []
        page.set("max-tokens", COUNT)
        for _ in range(3 * runs):
            page.press("#fresh")
            page.run(ASK, PROMPT)
            until = random.randrange(1, 400)
            page.until(lambda: page.run("return parseInt([...document.querySelectorAll('.figures .figure')].find((n) => /tokens?$/.test(n.textContent))?.textContent ?? 0)") >= until)
            begun = time.monotonic()
            page.press("#stop")
            eventually(lambda: server.load()["running"] == 0, "the request ends")
            times.append(time.monotonic() - begun)
            page.until(page.idle)
        missed = stopped(say, page, "Stop, real", times)
        for _ in range(runs):
            before = latency(server)
            took, longest = answer(page)
            rows.append((took, latency(server) - before, longest))
        missed += shown(say, page, f"{COUNT} real tokens", rows)
    assert not missed, missed

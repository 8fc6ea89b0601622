"""What a page of another origin gets of a server, and one whose name leads here (DNS rebinding): nothing is read, nothing
is generated. Each attack is also tried where the server allows it: there it succeeds."""
import http.server
import threading

import pytest

from augur_server import Server
from browser_page import Page

NAME = "rebound.test"  # leads to this machine in both browsers
ORIGINS = {"127.0.0.1": "another port", "localhost": "another name of this machine", NAME: "a foreign name"}
READ = ["/", "/v1/models", "/props", "/metrics", "/slots", "/load", "/openapi.json", "/options.js"]
WRITTEN = "vllm:generation_tokens_total"

# arguments: the target's origin, paths to read, and `done`, which is called with what was read, by how.
ATTACK = """
    const [target, paths, done] = arguments, got = {}, prompt = '{"messages": [{"role": "user", "content": "Hi"}], "prompt": "Hi", "max_tokens": 5}';
    const patience = (work) => Promise.race([work, new Promise((_, reject) => setTimeout(reject, 20000, "late"))]);
    const attempt = (name, work) => patience(work()).then((text) => { if (text) got[name] = String(text).slice(0, 300); }, () => {});
    const text = async (response) => { response = await response; return response.ok || response.type === "opaque" ? response.text() : ""; };
    const heard = (make, event) => new Promise((resolve, reject) => {
        const source = make();
        source.addEventListener(event, (e) => { source.close(); resolve(e.data ?? event); });
        source.addEventListener("error", () => { source.close(); reject(); });
    });
    const framed = (fill) => new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.addEventListener("load", () => resolve(frame));
        fill(frame);
        document.body.append(frame);
    });
    const asJson = { method: "POST", body: prompt, headers: { "Content-Type": "application/json" } };
    const asText = { method: "POST", body: prompt, headers: { "Content-Type": "text/plain" } };
    const works = [];
    for (const path of paths) {
        works.push(() => attempt(`read ${path}`, () => text(fetch(target + path))));
        works.push(() => attempt(`read ${path} without CORS`, () => text(fetch(target + path, { mode: "no-cors" }))));
        works.push(() => attempt(`frame ${path}`, async () => {
            const frame = await framed((f) => { f.src = target + path; }), inner = frame.contentDocument?.body?.textContent ?? "";
            return inner.startsWith('{"error"') ? "" : inner;
        }));
    }
    for (const path of ["/v1/chat/completions", "/v1/completions", "/completion", "/v1/messages"]) {
        works.push(() => attempt(`post JSON to ${path}`, () => text(fetch(target + path, asJson))));
        works.push(() => attempt(`post text to ${path}`, () => text(fetch(target + path, asText))));
        works.push(() => attempt(`post to ${path} without CORS`, async () => { await fetch(target + path, { ...asText, mode: "no-cors" }); }));
        works.push(() => attempt(`beacon to ${path}`, async () => { navigator.sendBeacon(target + path, prompt); }));
        for (const referrer of ["", "no-referrer"]) works.push(() => attempt(`form to ${path} ${referrer}`, () => framed((frame) => {
            const [name, value] = [prompt.slice(0, -2) + ', "x": "', '"}'];
            frame.srcdoc = `<meta name=referrer content="${referrer}"><form method=post enctype=text/plain action="${target + path}"><input></form>`;
            frame.addEventListener("load", () => {
                const form = frame.contentDocument?.querySelector("form");
                if (!form) return;
                form.firstChild.name = name;
                form.firstChild.value = value;
                form.submit();
            });
        }).then((frame) => new Promise((resolve) => frame.addEventListener("load", () => resolve(""), { once: true })))));
    }
    works.push(() => attempt("read in a sandbox", () => new Promise((resolve, reject) => {
        addEventListener("message", (event) => { if (event.data?.sandboxed !== undefined) resolve(event.data.sandboxed); });
        framed((frame) => {
            frame.sandbox = "allow-scripts";
            frame.srcdoc = `<script>(async () => {
                const read = (...what) => fetch(...what).then((r) => r.ok ? r.text() : "", () => "");
                parent.postMessage({ sandboxed: await read("${target}/props") + await read("${target}/v1/completions", ${JSON.stringify(asText)}) }, "*");
            })()<\\/script>`;
        });
    })));
    works.push(() => attempt("an event source", () => heard(() => new EventSource(target + "/v1/models"), "message")));
    works.push(() => attempt("a web socket", () => heard(() => new WebSocket(target.replace("http", "ws") + "/v1/models"), "open")));
    (async () => {
        for (const work of works) await work();
        done(got);
    })().catch((error) => done({ error: String(error) }));
"""


class Blank(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.server.left:  # a connection that the browser had opened before
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>foreign</title><body>")

    def log_message(self, *_):
        pass


@pytest.fixture
def hostile():
    """A server of a page that has nothing in it yet."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        server.left = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def attacked(page, target):
    page.driver.set_script_timeout(120)
    got = page.driver.execute_async_script(ATTACK, target.rstrip("/"), READ)
    page.check("error" not in got, got)
    return got


def written(server):
    lines = server.get("/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(WRITTEN))


def read(got, way):
    return {path for path in READ if f"{way} {path}" in got}


@pytest.mark.parametrize("name", ORIGINS)
def test_a_page_of_another_origin_gets_nothing(hostile, need, chat_stories, name):
    with Server(chat_stories, "--no-log-requests") as server, \
            Page(f"http://{name}:{hostile.server_port}/", need, name="foreign") as page:
        got = attacked(page, server.url)
        page.check(not got, got)
        page.check(server.load()["prompt_tokens"] == 0 and written(server) == 0, "something was read or generated")
        refused = [line for line in server.get("/metrics").splitlines() if line.startswith("augur:requests_refused_total")]
        page.check(refused, "no attack came to the server")
        framed = page.driver.execute_async_script("""
            const [target, done] = arguments, frame = document.createElement("iframe");
            frame.src = target;
            frame.addEventListener("load", () => done(frame));
            document.body.append(frame);""", server.url)
        page.driver.switch_to.frame(framed)
        page.check(page.count("#prompt") == 0, "the page can be framed")
        page.driver.switch_to.default_content()
        page.driver.get(server.url)
        page.until(lambda: page.count("#prompt") == 1)


def test_a_page_of_an_allowed_origin_gets_what_it_asks_for(hostile, need, chat_stories):
    with Server(chat_stories, "--no-log-requests", "--cors-origin", f"http://localhost:{hostile.server_port}") as server, \
            Page(f"http://localhost:{hostile.server_port}/", need, name="allowed") as page:
        got = attacked(page, server.url)
        page.check(read(got, "read") == set(READ) and not read(got, "frame"), got)
        page.check("post JSON to /v1/chat/completions" in got and written(server) > 0, got)


@pytest.mark.parametrize("allowed", [False, True], ids=["unknown", "allowed"])
def test_a_page_whose_name_leads_here_gets_nothing(hostile, need, chat_stories, allowed):
    """The name leads to a hostile server first, then to this one, at the same port: for the browser it is one origin."""
    port = hostile.server_port
    with Page(f"http://{NAME}:{port}/", need, name="rebound") as page:
        page.check(page.driver.title == "foreign", page.driver.title)
        hostile.left = True
        hostile.shutdown()
        hostile.server_close()
        flags = ["--allowed-host", NAME] if allowed else []
        with Server(chat_stories, "--no-log-requests", "--host", "127.0.0.1", "--port", str(port), *flags) as server:
            got = attacked(page, f"http://{NAME}:{port}")
            if allowed:
                page.check(read(got, "read") == set(READ) and "post JSON to /v1/chat/completions" in got and written(server) > 0, got)
            else:
                page.check(not got, got)
                page.check(server.load()["prompt_tokens"] == 0 and written(server) == 0, "something was read or generated")

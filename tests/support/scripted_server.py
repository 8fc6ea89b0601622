"""The chat page with answers that a test writes: the page's files and everything else that isn't scripted come from an
`augur serve` behind it."""
import http.server
import json
import pathlib
import threading

from augur_server import PATIENCE


class Answer:
    """An HTTP answer."""

    def __init__(self, status, body, **headers):
        self.status, self.headers = status, headers
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()

    def send(self, handler):
        handler.begin(self.status, {"Content-Type": "application/json", **self.headers}, len(self.body))
        handler.wfile.write(self.body)


def error(status, message, **headers):
    return Answer(status, {"error": {"message": message, "type": "scripted"}}, **headers)


def holding(stream, number, gate):
    """The stream, of which event `number` waits for `gate` (threading.Event)."""
    events = stream.events

    def held():
        for i, event in enumerate(events()):
            if i == number:
                gate.wait(PATIENCE)
            yield event
    stream.events = held
    return stream


class Stream:
    """Tokens as the server streams them, as fast as they are read; then the end of an answer.

    rounds: into so many tokens each they are cut. ms: what the server says that they took. cut: the connection ends
    behind so many events. gate: awaited before each token (threading.Event).
    """

    def __init__(self, tokens, rounds=4, ms=1000, reason="stop", prompt=10, cut=None, gate=None):
        self.tokens, self.rounds, self.ms, self.reason, self.prompt = tokens, rounds, ms, reason, prompt
        self.cut, self.gate = cut, gate
        self.sent = 0
        self.done = threading.Event()
        self.left = False  # the page went away before the end

    def chunk(self, delta, reason=None, **more):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason, **more}]}

    def events(self):
        for i, text in enumerate(self.tokens):
            if self.gate:
                self.gate.wait(PATIENCE)
            depth = i % self.rounds
            token = {"id": 100 + i, "drafter": "ngram" if depth else None, "depth": depth}
            event = self.chunk({"content": text}, speculation={"token": token})
            event["timings"] = {"prompt_ms": 5, "predicted_n": i + 1, "predicted_ms": self.ms * (i + 1) / len(self.tokens)}
            yield event
            if depth == self.rounds - 1:
                nodes = [{"id": 1, "text": "x", "parent": n - 1, "drafter": "ngram" if n else None, "probability": 0.5,
                          "accepted": True} for n in range(self.rounds)]
                yield self.chunk({}, speculation={"round": {
                    "drafted": self.rounds, "verified": self.rounds, "accepted": self.rounds - 1, "batch_rows": self.rounds,
                    "draft_ms": 1, "verify_ms": 1, "other_ms": 0, "next": {"id": 1, "text": text}, "nodes": nodes}})
        count = len(self.tokens)
        yield {**self.chunk({}, self.reason), "timings": {"prompt_ms": 5, "predicted_n": count, "predicted_ms": self.ms}}
        yield {"choices": [], "usage": {"prompt_tokens": self.prompt, "completion_tokens": count}}

    def send(self, handler):
        handler.begin(200, {"Content-Type": "text/event-stream"}, None)
        handler.close_connection = True
        try:
            for i, event in enumerate(self.events()):
                if i == self.cut:
                    return
                handler.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                self.sent = i + 1
            handler.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.left = True
        finally:
            self.done.set()


class ScriptedServer:
    """script: what the next requests for a path are answered with, in order; the last one stays. None: by the server
    behind. A function is called with the request's JSON and gives the answer.

    asked: the JSON of every scripted request, by path. files: a folder that has the page's files instead.
    """

    def __init__(self, behind, files=None):
        self.script, self.asked = {}, {}
        self.gone = False
        self.behind, self.files = behind, pathlib.Path(files) if files else None
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def begin(self, status, headers, length):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                if length is None:
                    self.send_header("Connection", "close")
                else:
                    self.send_header("Content-Length", str(length))
                self.end_headers()

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                if server.gone:
                    self.close_connection = True
                    return
                found = server.next(self.path, body, self.headers)
                if found is None:
                    found = server.forward(self.command, self.path, body, dict(self.headers))
                try:
                    found.send(self)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = answer

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    def leave(self):
        """From now on there is no server."""
        if not self.gone:
            self.gone = True
            self.http.shutdown()
            self.http.server_close()

    def on(self, path, *answers):
        self.script[path] = list(answers)
        self.asked[path] = []

    def next(self, path, body, headers):
        answers = self.script.get(path)
        if not answers:
            return None
        asked = {**(json.loads(body) if body else {}), "authorization": headers.get("Authorization")}
        self.asked[path].append(asked)
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return found(asked) if callable(found) else found

    def forward(self, method, path, body, headers):
        connection = self.behind.connect(PATIENCE)
        try:
            headers = {k: v for k, v in headers.items() if k.lower() not in ("host", "connection", "origin", "referer")}
            connection.request(method, path, body, headers)
            got = connection.getresponse()
            told = {k: v for k, v in got.getheaders() if k.lower() not in ("content-length", "connection",
                                                                           "transfer-encoding", "date", "server")}
            content, status = got.read(), got.status
        finally:
            connection.close()
        named = self.files and self.files / (path.strip("/") or "index.html")
        if named and named.is_file():
            kinds = {".js": "text/javascript", ".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml"}
            content, status, told["Content-Type"] = named.read_bytes(), 200, kinds[named.suffix]
        return Answer(status, content, **told)

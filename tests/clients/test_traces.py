"""What --otlp-endpoint sends is what OpenTelemetry's own schema takes."""
import http.server
import threading

import requests
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from asking import serve
from augur_server import STORIES


def test_spans():
    bodies = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        with serve(STORIES, "--spec-type", "ngram",
                   "--otlp-endpoint", f"http://localhost:{collector.server_port}") as server:
            asked = {"prompt": "Once upon a time", "max_tokens": 30, "n": 2}
            assert requests.post(server.url + "/v1/completions", json=asked, timeout=60).status_code == 200
            server.close()  # it sends what waits
        collector.shutdown()
    spans = []
    for path, body in bodies:
        assert path == "/v1/traces"
        for resource in json_format.Parse(body, ExportTraceServiceRequest()).resource_spans:
            assert {"key": "service.name", "value": {"stringValue": "augur"}} in [
                json_format.MessageToDict(a) for a in resource.resource.attributes]
            spans += [span for scope in resource.scope_spans for span in scope.spans]
    names = sorted(span.name for span in spans)
    assert names == ["POST /v1/completions"] + ["answer"] * 2 + ["prompt"] * 2 + ["queue"] * 2
    assert [s.name for s in spans if s.kind == Span.SPAN_KIND_SERVER] == ["POST /v1/completions"]
    assert all(s.start_time_unix_nano <= s.end_time_unix_nano for s in spans)
    assert all(s.events for s in spans if s.name == "answer")

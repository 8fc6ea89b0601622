"""A server of the little stories model, with a chat template that knows tools, for all checks of a run."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEMPLATE = """{% if tools %}Tools: {{ tools | tojson }} <tool_call>{% endif %}
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}"""


class Server:
    def __init__(self, model, *flags):
        program = os.environ.get("AUGUR", str(ROOT / "build/release/augur"))
        self.process = subprocess.Popen(
            [program, "serve", "-m", str(model), "--alias", "stories", "--port", "0", *flags],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"http://[\w.]+:\d+", line)
        assert match, f"the server did not start: {line}"
        self.url = match.group(0)

    def load(self):
        with urllib.request.urlopen(self.url + "/load", timeout=10) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    for name in ("config.json", "tokenizer.model", "model.safetensors"):
        shutil.copy(ROOT / "models/stories260k" / name, folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


@pytest.fixture(scope="session")
def server(model):
    server = Server(model)
    yield server
    server.close()

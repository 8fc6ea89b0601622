"""A server of the little stories model, with a chat template that knows tools, for all checks of a run."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEMPLATE = """{% if tools %}Tools: {{ tools | tojson }} <tool_call>{% endif %}
{% for m in messages %}{{ m.role }}: {{ m.content or '' }}{% for call in m.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}
{% endfor %}"""
LLAMA_CPP_PYTHON = "llama_cpp_python==0.3.36"
LLAMA_CPP_PYTHON_HASH = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"


class Server:
    def __init__(self, model, *flags):
        program = os.environ.get("AUGUR", str(ROOT / "build/release/augur"))
        self.process = subprocess.Popen(
            [program, "serve", "-m", str(model), "--alias", "stories", "--port", "0",
             "--strict-model", *flags],
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
def llama_cpp(tmp_path_factory):
    """llama.cpp's folder in the source archive of llama_cpp_python: grammars, templates, and Python examples."""
    folder = tmp_path_factory.mktemp("llama_cpp_python")
    (folder / "requirements.txt").write_text(f"{LLAMA_CPP_PYTHON} --hash=sha256:{LLAMA_CPP_PYTHON_HASH}\n")
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary",
         "llama_cpp_python", "--require-hashes", "-d", folder, "-r",
         folder / "requirements.txt"], check=False)
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"{LLAMA_CPP_PYTHON} cannot be fetched (pip's exit code {fetched.returncode})")
    with tarfile.open(archives[0]) as archive:
        for member in archive:
            found = re.search(r"/vendor/llama\.cpp/(grammars|models/templates|examples)/([\w.-]+)$", member.name)
            if found and member.isfile():
                (folder / found[1]).mkdir(parents=True, exist_ok=True)
                (folder / found[1] / found[2]).write_bytes(archive.extractfile(member).read())
    return folder


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

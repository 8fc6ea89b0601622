"""The grammar files of llama.cpp, which llama_cpp_python's source archive carries: all of them are accepted, and admit
what they admit there (gbnf_texts.jsonl has texts of each and others)."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import urllib.request

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = "llama_cpp_python==0.3.36"


@pytest.fixture(scope="session")
def grammars(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama_cpp_python")
    (folder / "requirements.txt").write_text(
        f"{PACKAGE} --hash=sha256:832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e\n")
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary",
         "llama_cpp_python", "--require-hashes", "-d", folder, "-r", folder / "requirements.txt"],
        check=False)
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"{PACKAGE} cannot be fetched (pip's exit code {fetched.returncode})")
    with tarfile.open(archives[0]) as archive:
        for member in archive:
            name = pathlib.PurePosixPath(member.name)
            if member.isfile() and name.suffix == ".gbnf":
                (folder / name.name).write_bytes(archive.extractfile(member).read())
    return folder


def test_admit_what_they_admit_there(grammars):
    program = ROOT / "build/release/bin/grammar_tests"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    done = subprocess.run(
        [program, "--gtest_filter=GbnfTest.FilesAdmitWhatTheyAdmitElsewhere"], check=False, text=True,
        stdout=subprocess.PIPE, env={**os.environ, "AUGUR_GBNF_FILES": str(grammars),
                                     "AUGUR_GBNF_TEXTS": str(HERE / "gbnf_texts.jsonl")})
    assert done.returncode == 0 and "[  PASSED  ] 1 test" in done.stdout, done.stdout


def test_the_server_writes_under_them(grammars, server):
    for file in sorted(grammars.glob("*.gbnf")):
        body = json.dumps({"prompt": "Once", "n_predict": 12, "grammar": file.read_text()}).encode()
        request = urllib.request.Request(server.url + "/completion", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200, file.name

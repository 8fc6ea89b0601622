"""llama.cpp's grammar files: all of them are accepted, and admit what they admit there (gbnf_texts.jsonl has texts of
each and others)."""
import json
import os
import pathlib
import subprocess
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
GRAMMAR_TESTS = HERE.parent.parent / "build/release/bin/grammar_tests"


def test_admit_what_they_admit_there(llama_cpp):
    done = subprocess.run(
        [GRAMMAR_TESTS, "--gtest_filter=GbnfTest.FilesAdmitWhatTheyAdmitElsewhere"], check=False, text=True,
        stdout=subprocess.PIPE, env={**os.environ, "AUGUR_GBNF_FILES": str(llama_cpp / "grammars"),
                                     "AUGUR_GBNF_TEXTS": str(HERE / "gbnf_texts.jsonl")})
    assert done.returncode == 0 and "[  PASSED  ] 1 test" in done.stdout, done.stdout


def test_the_server_writes_under_them(llama_cpp, server):
    files = sorted((llama_cpp / "grammars").glob("*.gbnf"))
    assert len(files) >= 8
    for file in files:
        body = json.dumps({"prompt": "Once", "n_predict": 12, "grammar": file.read_text()}).encode()
        request = urllib.request.Request(server.url + "/completion", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200, file.name

#!/usr/bin/env python3
"""Holds tests/ against kinds of tests that cannot fail, or fail by the clock.

Searches the C++ tests for tests without an assertion, assertions on a constant or on a value and itself, and waits that
never end where what they wait for does not come; and all tests for pauses and timed waits. Those that are meant are
named below with their reason. Prints every violation; exits 1 where there is one.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
tests = root / "tests"

# Files that may pause, or wait for a while, and why no result depends on how long.
PAUSES = {
    "support/eventually.h": "bounds waits that would have no end",
    "unit/session/session_test.cpp": "the time is what runs out, doubled until a first token comes",
    "unit/server/http_server_test.cpp": "holds an exchange back, so that an end which does not wait for it is seen",
    "ci/run_test.py": "looks again for what a run writes and for the end of its processes",
    "support/augur_server.py": "bounds waits that would have no end",
    "support/marionette.py": "looks again whether the browser listens",
    "operation/bench_hostile.py": "measures times; it is no test",
    "operation/bench_page.py": "measures times; it is no test",
    "operation/test_replicas.py": "spreads requests over the restarts, and lets a proxy notice one",
    "operation/test_slow_clients.py": "between two requests",
    "operation/test_soak.py": "clients that write and read slowly, and looks at the server's memory",
}
PAUSE = re.compile(r"\bsleep_(?:for|until)\b|\bu?sleep\(|\.wait_(?:for|until)\(")
UNBOUNDED = re.compile(r"get_future\(\)\.get\(\)")
CONSTANT = re.compile(r"\b(?:EXPECT|ASSERT)_(?:TRUE|FALSE)\(\s*(?:true|false|\d+)\s*\)|\bSUCCEED\(\)")
# Calls may differ from one to the next.
ITSELF = re.compile(r"\b(?:EXPECT|ASSERT)_(?:EQ|LE|GE|NEAR|DOUBLE_EQ|FLOAT_EQ|STREQ)\(\s*([\w.>:\[\]-]+),\s*([\w.>:\[\]-]+)\s*[,)]")
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)\s*\{(.*?)^\}", re.M | re.S)
# Of gtest, or of a function that is named for what it does.
ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_\w+\(|\bFAIL\(|\bADD_FAILURE|\b(?:expect|check)(?:_\w+)?\(")


def code_of(text, suffix):
    """Without comments, line by line; strings of tests hold code of other languages, but none of these words."""
    if suffix == ".py":
        return re.sub(r"#.*", "", text)
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.S)
    return re.sub(r"(?<![:\"])//[^\n]*", "", text)


problems = []
count = 0
pausing = set()
for path in sorted(tests.rglob("*")):
    if path.suffix not in (".cpp", ".h", ".py") or "golden" in path.parts:
        continue
    name = str(path.relative_to(tests))
    code = code_of(path.read_text(), path.suffix)
    for number, line in enumerate(code.splitlines(), 1):
        place = f"tests/{name}:{number}"
        if PAUSE.search(line):
            pausing.add(name)
            if name not in PAUSES:
                problems.append(f"{place}: pauses or waits for a while; count instead, or wait as tests/support/eventually.h does")
        if path.suffix == ".py":
            continue
        if UNBOUNDED.search(line):
            problems.append(f"{place}: hangs where nothing is promised; awaited() of tests/support/eventually.h does not")
        if CONSTANT.search(line):
            problems.append(f"{place}: asserts a constant")
        problems += [f"{place}: compares {a} with itself" for a, b in ITSELF.findall(line) if a == b]
    if path.suffix != ".cpp":
        continue
    for match in TEST.finditer(code):
        count += 1
        if not ASSERTION.search(match.group(3)):
            number = code[:match.start()].count("\n") + 1
            problems.append(f"tests/{name}:{number}: {match.group(1)}.{match.group(2)} asserts nothing")
problems += [f"scripts/check_tests.py: tests/{name} does not pause" for name in sorted(PAUSES.keys() - pausing)]
if count == 0:
    problems.append("no tests were found")

for problem in problems:
    print(problem)
print(f"{count} tests, {len(problems)} violations")
sys.exit(bool(problems))

#!/usr/bin/env python3
"""Holds what libaugur shows of itself against its headers.

usage: interface_test.py SOURCE LIBRARY

Each public C++ header has its names in the inline namespace of the binary interface's number (version.h), but for
forward declarations of what is not public. The library exports the functions that augur.h and its parts declare, and of
C++ only functions and data of that namespace's classes: no templates, no inline functions, nothing of an implementation. It
needs the libraries that docs/abi.md names, and its SONAME has the number.
"""
import pathlib
import re
import subprocess
import sys

source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
headers = sorted((source / "include/augur").glob("*.h"))
C_HEADERS = {"augur.h", "version.h"}
problems = []


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def expect_equal(what, found, expected):
    for name in sorted(found - expected):
        problems.append(f"{what}: {name} is not expected")
    for name in sorted(expected - found):
        problems.append(f"{what}: {name} is missing")


number = re.search(r"^#define AUGUR_ABI_VERSION (\d+)$", (source / "include/augur/version.h").read_text(), re.M).group(1)
# Between the two lines of namespaces only names may be declared that the library alone completes.
INTERFACE = re.compile(rf"""^namespace\ augur\ \{{\n
    (?:///.*\n | template\ <.*>\n | (?:class|struct)\ \w+;\n)*
    inline\ namespace\ abi{number}\ \{{\n[\s\S]*
    ^\}}\ \ //\ namespace\ abi{number}\n
    ^\}}\ \ //\ namespace\ augur\n$""", re.M | re.X)
for header in headers:
    text = header.read_text()
    match = INTERFACE.search(text)
    if header.name not in C_HEADERS and (match is None or len(re.findall(r"\bnamespace\b.*\{", text)) != 2):
        problems.append(f"include/augur/{header.name}: expected one `namespace augur {{`, and all of it within "
                        f"`inline namespace abi{number} {{`")

text = (source / "src/c_api/exports.map").read_text()
problems += [f"src/c_api/exports.map: {name} is not in abi{number}" for name in re.findall(r"augur::(?!abi%s::)\w+" % number, text)]

c_headers = [source / "include/augur/augur.h", *(source / "include/augur/c").glob("*.h")]
code = re.sub(r"/\*.*?\*/", "", "".join(header.read_text() for header in c_headers), flags=re.S)
declared = set(re.findall(r"^(?!static|typedef).*?\b(augur_\w+)\(", code, re.M))
exported = [line.split(" ", 2)[1:] for line in output("nm", "-DC", "--defined-only", library).splitlines()]
expect_equal("functions of C", {name for kind, name in exported if name.startswith("augur_")}, declared)
for kind, name in exported:
    if name.startswith("augur_"):
        continue
    plain = re.sub(r"\(.*", "", name)
    if not re.match(rf"(?:(?:vtable|typeinfo|typeinfo name) for )?augur::abi{number}::", name):
        problems.append(f"exported: {name} is not of the interface")
    elif "<" in plain or re.search(r"::(Impl|State)\b", name):
        problems.append(f"exported: {name} is of the implementation")
    elif kind not in ("T", "R", "V" if " for " in name else "T"):
        problems.append(f"exported: {name} has kind {kind} of nm: inline functions are the program's own, and a unique "
                        "symbol (u) keeps the library from being unloaded")

dynamic = output("readelf", "-dW", library)
soname = re.search(r"SONAME.*\[(.*)\]", dynamic).group(1)
if soname != f"libaugur.so.{number}":
    problems.append(f"SONAME: {soname}, expected libaugur.so.{number}")
named = set(re.findall(r"`([\w+-]+\.so\.\d+)`", (source / "docs/abi.md").read_text()))
expect_equal("needed libraries (docs/abi.md names them)", set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)), named)

for problem in problems:
    print(problem)
print(f"{len(headers)} headers, {len(exported)} exported symbols, {len(problems)} problems")
sys.exit(bool(problems))

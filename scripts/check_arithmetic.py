#!/usr/bin/env python3
"""Holds src/ to arithmetic that has the same bits on every processor (docs/law.md).

usage: check_arithmetic.py [ARCHIVE...]

Searches the sources for functions of the C library that round differently from processor to processor (it picks among
several when a program starts), for operations that are fused, approximate or ordered as the instruction set has it, and
for compiler flags that allow such; and the archives' objects, of which `nm` tells what they call, for the functions.
base/elementary.h, base/circular.h and kernels/ops.h have what may be used. Prints every violation; exits 1 where there
is one.
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent

# Of the policy auto and its measurements: it decides by measured times, which no two runs have in common.
MEASURED = ["src/policy/auto", "src/policy/auto_policy.cpp", "src/cost"]

# All of the C library's functions that are not correctly rounded; sqrt, fma, fmod, nearbyint and the like are.
NAMES = (r"exp|exp2|exp10|pow10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|sincos|asin|acos|atan|atan2|sinh|cosh|tanh|"
         r"asinh|acosh|atanh|erf|erfc|tgamma|lgamma|cbrt|hypot|j0|j1|jn|y0|y1|yn")
CALLED = re.compile(rf"\bstd::(?:{NAMES})[fl]?\s*\(|(?<![\w>])::(?:{NAMES})[fl]?\s*\(|\b(?:__builtin_)?(?:{NAMES})f\s*\(")
SYMBOL = re.compile(rf"^(?:c?(?:{NAMES})[fl]?(?:f32|f64|f32x|f64x|f128)?(?:_r)?|__\w+_finite|_ZGV\w+)$")
OPERATIONS = re.compile(r"\bhn::(?:Neg)?Mul(?:Add|Sub)\b|\bApproximateReciprocal|_mm\d*_(?:mask_|maskz_)?(?:rcp|rsqrt)|"
                        r"\bstd::(?:transform_)?reduce\b|hwy/contrib/math")
FLAGS = re.compile(r"-f(?:unsafe-math|associative-math|reciprocal-math|fast-math)|-Ofast|-ffp-contract=(?!off)")


def measured(path):
    return any(path == root / place or root / place in path.parents for place in MEASURED)


def code_of(text):
    """Without comments and strings, line by line."""
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)
    return re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.S).splitlines()


problems = []
sources = sorted(p for p in (root / "src").rglob("*") if p.suffix in (".cpp", ".h", ".inc") and not measured(p))
for path in sources:
    text = path.read_text()
    for number, line in enumerate(code_of(text), 1):
        for match in [*CALLED.finditer(line), *OPERATIONS.finditer(line)]:
            problems.append(f"{path.relative_to(root)}:{number}: {match.group().strip('( ')}")
    problems += [f"{path.relative_to(root)}: {found}" for found in re.findall(r'#include [<"](hwy/contrib/math[^>"]*)', text)]
for path in sorted([root / "CMakeLists.txt", root / "CMakePresets.json", *root.glob("cmake/*.cmake"),
                    *root.glob("src/**/CMakeLists.txt")]):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        problems += [f"{path.relative_to(root)}:{number}: {match.group()}" for match in FLAGS.finditer(line)]

# Objects are named by their sources.
excused = {(f"libaugur_{place.split('/')[1]}.a", f"{p.name}.o")
           for place in MEASURED for p in [root / place, *(root / place).rglob("*")] if p.suffix == ".cpp"}
objects = 0
for archive in map(pathlib.Path, sys.argv[1:]):
    if not archive.exists():
        problems.append(f"{archive}: is not built")
        continue
    listed = subprocess.run(["nm", "--undefined-only", archive], check=True, capture_output=True, text=True).stdout
    member = ""
    for line in listed.splitlines():
        if line.endswith(".o:"):
            member = line[:-1]
            objects += 1
            continue
        symbol = line.split()[-1].split("@")[0] if line.strip() else ""
        if SYMBOL.match(symbol) and (archive.name, member) not in excused:
            problems.append(f"{archive.name}: {member} calls {symbol}")
if sys.argv[1:] and objects == 0:
    problems.append("the archives have no objects")

for problem in problems:
    print(problem)
print(f"{len(sources)} sources, {objects} objects, {len(problems)} violations")
sys.exit(bool(problems))

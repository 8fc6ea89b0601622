#!/usr/bin/env python3
"""Holds every #include of src/ and lab/ against the modules that the including module's CMakeLists.txt names.

A module is a folder of src/ or lab/. It may include its own headers, those of include/augur/, and those of modules in
its DEPENDS (or, for programs, among its augur_* libraries and objects). Nothing in src/ may include from lab/, and no
module may depend on itself through others. Drafters are not to see threads or products, and nothing but src/cost writes
files of costs (KEPT_OUT). docs/rooms.svg draws the modules. Prints every violation; exits 1 where there is one.

usage: scripts/check_layers.py [--draw]     --draw: writes docs/rooms.svg instead of comparing it
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
modules = {}  # folder as "src:NAME" or "lab:NAME" -> (folder, prefix of its includes)
for top in ("src", "lab"):
    for folder in sorted((root / top).iterdir()):
        if folder.is_dir():
            prefix = folder.name if top == "src" else f"lab/{folder.name}"
            modules[f"{top}:{folder.name}"] = (folder, prefix)
by_prefix = {prefix: name for name, (_, prefix) in modules.items()}

# What assumes a thread team or this processor's products stays below model/ and kernels/, so that another device has
# one place to enter; costs have one room: (folder, folder in it that may, words, what is meant and where it is).
KEPT_OUT = [("src/draft", "src/draft/common", r"\b(ThreadPool|Team|GemmCall)\b|\bpool\b|\bgemm\b",
             "threads and products; see src/model"),
            ("src", "src/cost", r"\bwrite_measured\b", "files of costs; see src/cost")]


def named_modules(folder):
    """Modules that the folder's CMakeLists.txt depends on, by prefix of their includes."""
    text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text())
    names = set()
    for arguments in re.findall(r"augur_module\(([^)]*)\)", text):
        depends = re.search(r"DEPENDS\s+(.*?)(?:LIBRARIES|$)", arguments, re.S)
        names.update(depends.group(1).split() if depends else [])
    for arguments in re.findall(r"target_link_libraries\(([^)]*)\)", text):
        names.update(re.findall(r"\baugur_(\w+)", arguments))
    names.update(re.findall(r"TARGET_OBJECTS:augur_(\w+)", text))
    prefixes = (name if name in by_prefix else f"lab/{name}" for name in names)
    return {prefix for prefix in prefixes if prefix in by_prefix}


def module_of(include):
    parts = include.split("/")
    if len(parts) < 2:
        return None
    return "/".join(parts[:2]) if parts[0] == "lab" else parts[0]


problems = []
depends = {}
for name, (folder, own) in modules.items():
    allowed = named_modules(folder)
    depends[own] = allowed - {own}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".cpp", ".h", ".inc"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#include "([^"]+)"', line)
            module = module_of(match.group(1)) if match else None
            if module not in by_prefix or module == own:
                continue
            place = f"{path.relative_to(root)}:{number}"
            if name.startswith("src:") and module.startswith("lab/"):
                problems.append(f"{place}: the engine includes {match.group(1)} of the laboratory")
            elif module not in allowed:
                problems.append(f"{place}: includes {match.group(1)}, but {folder.relative_to(root)}/CMakeLists.txt "
                                f"does not name {module}")

for folder, may, words, meaning in KEPT_OUT:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in (".cpp", ".h") or (root / may) in path.parents:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(words, line.split("//")[0]):
                problems.append(f"{path.relative_to(root)}:{number}: {folder} is to be free of {meaning}")


def reaches(start, module, seen):
    if module in seen:
        return False
    seen.add(module)
    return start in depends[module] or any(reaches(start, next_, seen) for next_ in depends[module])


problems += [f"{module} depends on itself through other modules" for module in depends if reaches(module, module, set())]

def drawing():
    """The modules as rows of boxes, each above every module that it may include; a box says which these are."""
    def height(module):
        return 1 + max((height(below) for below in depends[module]), default=-1)

    heights = {module: height(module) for module in sorted(depends)}
    rows = [[module for module in heights if heights[module] == level] for level in range(max(heights.values()), -1, -1)]
    wide, box, step = 1000, 30, 44
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {len(rows) * step + 16}" '
             'font-family="sans-serif" font-size="14" text-anchor="middle">']
    for level, row in enumerate(rows):
        width = min(150, (wide - 20) / len(row) - 10)
        left = (wide - len(row) * (width + 10) + 10) / 2
        for place, module in enumerate(row):
            x, y = left + place * (width + 10), 10 + level * step
            colour = "#fde8c8" if module.startswith("lab/") else "#d6e8fa"
            below = ", ".join(sorted(depends[module])) or "no other module"
            lines.append(f'<g><title>{module} may include {below}</title><rect x="{x:.0f}" y="{y}" width="{width:.0f}" '
                         f'height="{box}" rx="4" fill="{colour}" stroke="#456"/>'
                         f'<text x="{x + width / 2:.0f}" y="{y + 20}">{module}</text></g>')
    return "\n".join(lines) + "\n</svg>\n"


if not problems:
    picture = root / "docs/rooms.svg"
    if sys.argv[1:] == ["--draw"]:
        picture.write_text(drawing())
    elif not picture.exists() or picture.read_text() != drawing():
        problems.append("docs/rooms.svg: not the modules of src/ and lab/: run scripts/check_layers.py --draw")
for problem in problems:
    print(problem)
print(f"{len(modules)} modules, {len(problems)} violations")
sys.exit(bool(problems))

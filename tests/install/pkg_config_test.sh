#!/usr/bin/env bash
# What a user of another build system does: programs in C and C++ are built with pkg-config against an installation that
# was moved, and run. The one in C++ has a function of libfmt, which the library must not call.
# usage: pkg_config_test.sh SOURCE BUILD CC CXX [FLAG...]
set -euo pipefail
source=$1 build=$2 cc=$3 cxx=$4 flags=("${@:5}")
programs=$source/tests/install/embedded
work=$build/tests/install/pkg_config
rm -rf "$work"

cmake --install "$build" --prefix "$work/first" --component library >/dev/null
mv "$work/first" "$work/moved prefix"
pc=$(find "$work/moved prefix" -name augur.pc)
export PKG_CONFIG_PATH=${pc%/*}
eval "compile=($(pkg-config --cflags augur))" "link=($(pkg-config --libs augur))"
libraries=${PKG_CONFIG_PATH%/pkgconfig}

"$cc" -std=c99 -pedantic-errors -Wall -Wextra -Werror "${flags[@]}" "${compile[@]}" "$programs/program.c" -o "$work/program" "${link[@]}"
"$cxx" -std=c++20 -Wall -Wextra -Werror -rdynamic "${flags[@]}" "${compile[@]}" "$programs/own_fmt.cpp" -o "$work/own_fmt" "${link[@]}"

expect() { # PROGRAM PATTERN
  local said
  said=$(LD_LIBRARY_PATH=$libraries "$work/$1" "$source/models/stories260k") || { echo "$1 has ended with $?"; exit 1; }
  # shellcheck disable=SC2053  # a pattern
  [[ $said == $2 ]] || { echo "$1 said: $said"; exit 1; }
}
version=$(pkg-config --modversion augur)
expect program "headers $version, library $version"$'\n'", there was a little girl named Lily*"
expect own_fmt "no_such_model: no such file or folder*"$'\n'", there was a little girl named Lily*"
echo "both programs run"

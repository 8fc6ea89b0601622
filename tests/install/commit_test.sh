#!/usr/bin/env bash
# What cmake/Commit.cmake says of a clone, of one with changes, of an archive, and of a folder that is neither.
# usage: commit_test.sh SOURCE WORK
set -euo pipefail
source=$1
work=$2/commit
rm -rf "$work"
mkdir -p "$work/clone/cmake"

fail() { echo "FAILED: $*" >&2; exit 1; }
git_here() { git -C "$work/clone" -c user.name=test -c user.email=test@localhost -c commit.gpgsign=false "$@"; }
said() { # FOLDER
  cmake -D SOURCE="$1" -D OUT="$work/commit.h" -P "$1/cmake/Commit.cmake"
  sed -n 's/^#define AUGUR_COMMIT "\(.*\)"$/\1/p' "$work/commit.h"
}
expect() { # WHAT FOLDER COMMIT
  local answer
  answer=$(said "$2")
  [[ $answer == "$3" ]] || fail "$1: '$answer', expected '$3'"
}

cp "$source/cmake/Commit.cmake" "$source/cmake/commit.txt" "$work/clone/cmake/"
cp "$source/.gitattributes" "$work/clone/"
cp -r "$work/clone" "$work/neither"
git_here init -q
expect "without a commit" "$work/clone" unknown
git_here add .
git_here commit -q -m first
commit=$(git_here rev-parse HEAD)
expect "a clone" "$work/clone" "${commit:0:12}"

touch -d "2001-01-01" "$work/commit.h"
before=$(stat -c %Y "$work/commit.h")
expect "again" "$work/clone" "${commit:0:12}"
[[ $(stat -c %Y "$work/commit.h") == "$before" ]] || fail "it was written anew, though nothing has changed"

mkdir "$work/archive"
git_here archive HEAD | tar -x -C "$work/archive"
expect "an archive" "$work/archive" "${commit:0:12}"
echo >>"$work/clone/.gitattributes"
expect "a changed clone" "$work/clone" "${commit:0:12}-dirty"
mv "$work/neither" "$work/clone/"
expect "neither, within another's repository" "$work/clone/neither" unknown

#!/usr/bin/env bash
# Manual pages of the programs in a folder and of each of their subcommands, made from their --help, where they lie as
# they are released.
# usage: deploy/release/manuals.sh PROGRAMS OUT
set -euo pipefail
programs=$(realpath "$1")
mkdir -p "$2"

# What stands under "Subcommands:" in a program's help, and has help of its own: `augur-lab train` only with libtorch.
subcommands() { # PROGRAM
  "$programs/$1" --help | awk '/^[A-Z]/ {within = /^Subcommands/} within && /^  [a-z]/ {print $1}'
}

manual() { # OUT PROGRAM [SUBCOMMAND]
  local name="${*:2}" page summary
  page=${name// /-}
  summary=$("$programs/$2" "${@:3}" --help | head -n 1)
  help2man --no-info --name "${summary%.}" --version-string "$("$programs/$2" --version | head -n 1 | cut -d' ' -f2)" \
    --manual "Augur" "$programs/$name" |
    sed "s|^\.TH [A-Z]* |.TH ${page^^} |; s|^$name \\\\- |$page \\\\- |" >"$1/$page.1"
}

for program in augur augur-lab; do
  manual "$2" "$program"
  for subcommand in $(subcommands "$program"); do
    "$programs/$program" "$subcommand" --help >/dev/null 2>&1 || continue
    manual "$2" "$program" "$subcommand"
  done
done

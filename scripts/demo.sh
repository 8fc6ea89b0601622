#!/usr/bin/env bash
# Generates with a real model, first plainly, then with speculation: the same tokens, and how fast.
#
# usage: scripts/demo.sh [PROGRAM]        PROGRAM: default build/release/augur
# AUGUR_DEMO_PROMPT, AUGUR_DEMO_TOKENS: what to ask, how many tokens at most
set -euo pipefail
cd "$(dirname "$0")/.."
augur=${1:-build/release/augur}

if model=$(scripts/get_model.sh); then
  # Look-ups in the text, a draft model's tree of one size, and both drafters as measured costs decide.
  arguments=(-m "$model" -md models/smollm2-draft-11m --chat --with ngram:policy=auto --with auto:topk=4,depth=4,size=16
             --with auto,ngram:policy=auto)
  prompt="Write a Python class for a bank account with the methods deposit, withdraw and balance, then show how to use it."
  tokens=256
else
  echo
  echo "demo: going on with stories260k, the tiny model that ships with Augur: it writes children's stories, badly." >&2
  arguments=(-m models/stories260k)
  prompt="Once upon a time"
  tokens=200
fi

exec "$augur" bench spec "${arguments[@]}" -p "${AUGUR_DEMO_PROMPT:-$prompt}" -n "${AUGUR_DEMO_TOKENS:-$tokens}" --show --rounds 3

#!/usr/bin/env bash
# Runs scripts/train_on_gpu.sh and scripts/train_reference_models.sh over the tiny model that ships.
# usage: training_scripts_test.sh shards|libraries|resume|reference SOURCE_FOLDER PROGRAM_FOLDER
# Exit status 77: skipped, since augur-train is not built, or there are no Debian packages.
set -euo pipefail

test=$1 source=$2 programs=$3
stories=$source/models/stories260k
kit=$source/scripts/train_on_gpu.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
[[ $test == shards || $test == libraries || -x $programs/augur-train ]] || skip "augur-train is not built (make train)"

# So many records of one answer each.
prompts() {
  for ((i = 0; i < $1; ++i)); do
    echo "{\"text\": \"Once upon a time, there was a girl named Lily. She had $i red balls and played with her dog in the park.\"}"
  done
}

shards() {
  mkdir "$folder/part"
  head -c 2500000 /dev/urandom >"$folder/part/model.safetensors"
  head -c 1000000 /dev/zero >"$folder/part/checkpoint.safetensors"
  echo '{}' >"$folder/part/config.json"
  SHARD_MB=1 "$kit" split "$folder/part" "$folder/shards"
  [[ $(find "$folder/shards" -name 'part.*' -size +1000000c | wc -l) == 0 ]] || fail "a shard is too large"
  [[ $(find "$folder/shards" -name 'part.*' | wc -l) == 4 ]] || fail "expected four shards"
  "$kit" join "$folder/shards" "$folder/joined"
  diff -r "$folder/part" "$folder/joined" || fail "another folder came back"
  printf "not what it was" | dd of="$folder/shards/part.001" conv=notrunc status=none
  ! "$kit" join "$folder/shards" "$folder/damaged" || fail "a damaged shard was taken"
  rm "$folder/shards/part.001"
  ! "$kit" join "$folder/shards" "$folder/damaged" || fail "a missing shard was not missed"
  [[ ! -e $folder/damaged ]] || fail "something was unpacked"
  SHARD_MB=1 "$kit" split "$folder/part" "$folder/shards" --without-checkpoint
  "$kit" join "$folder/shards" "$folder/small"
  [[ -f $folder/small/model.safetensors && ! -e $folder/small/checkpoint.safetensors ]] || fail "not what was asked for"
  ! "$kit" split "$folder" "$folder/none" || fail "a folder without a part was taken"
}

# What pkg-config is asked for when the project is configured is packed.
libraries() {
  command -v dpkg >/dev/null || skip "there are no Debian packages"
  "$kit" libraries "$folder/libraries.tar.xz"
  mkdir "$folder/unpacked"
  tar -C "$folder/unpacked" -xJf "$folder/libraries.tar.xz"
  PKG_CONFIG_SYSROOT_DIR=$folder/unpacked PKG_CONFIG_LIBDIR=$folder/unpacked/usr/lib/x86_64-linux-gnu/pkgconfig \
    cmake -S "$source" -B "$folder/build" -DAUGUR_BUILD_TESTS=OFF -DAUGUR_BUILD_PROGRAMS=OFF -DAUGUR_GRAMMAR=OFF "-DCMAKE_PREFIX_PATH=$folder/unpacked/usr" >&2
}

# Stopped after every step, it ends where a run in one piece does.
resume() {
  export AUGUR_TRAIN=$programs/augur-train
  prompts 12 >"$folder/data.jsonl"
  local flags=(mtp -m "$stories" --data "$folder/data.jsonl" --tokens 800 --step-tokens 100 --held-out 2 --workers 1
    --device cpu) runs=0 status=75
  "$kit" train "${flags[@]}" -o "$folder/whole"
  while [[ $status == 75 ]]; do
    ((++runs < 20)) || fail "it does not go on"
    status=0
    MINUTES=0.00001 "$kit" train "${flags[@]}" -o "$folder/pieces" || status=$?
  done
  [[ $status == 0 ]] || fail "status $status"
  [[ $runs -ge 5 ]] || fail "ended after $runs runs: it was not stopped"
  cmp "$folder/whole/checkpoint.safetensors" "$folder/pieces/checkpoint.safetensors" || fail "another result"
  status=0
  "$kit" train mtp -m "$folder/none" --data x --tokens 1 -o "$folder/x" || status=$?
  [[ $status == 1 ]] || fail "an error has status $status"
}

reference() {
  mkdir "$folder/prompts"
  prompts 8 >"$folder/prompts/texts.jsonl"
  export AUGUR=$programs/augur TARGET=$stories DRAFT=$stories TOKENS=600 ANSWERS=8 TRACES=4 HELD_OUT=2 VOCAB=256 EXIT_LAYER=2
  export WORDS=5000 CORE=64 CLUSTERS=16 EXAMPLES=1000
  "$source/scripts/train_reference_models.sh" "$folder/prompts" "$folder/work"
  local part
  for part in eagle3 draft eagle mtp medusa hydra dflash dspark early-exit draft/c2t draft/acceptance draft/hetero \
    eagle3/c2t eagle3/acceptance eagle3/hetero draft/frspec draft/dynaspec; do
    [[ -f $folder/work/$part/config.json ]] || fail "$part was not made"
    [[ $part == *spec || -f $folder/work/$part/README.md ]] || fail "$part has no card"
  done
  FROM=$folder/work/ DATA=$folder/work/answers.jsonl \
    "$source/scripts/train_reference_models.sh" "$folder/prompts" "$folder/again" eagle3 draft
  for part in eagle3 draft; do
    grep -q -- "--init-from $folder/work/$part" "$folder/again/$part/README.md" || fail "$part did not start from the one before"
  done
}

"$test"

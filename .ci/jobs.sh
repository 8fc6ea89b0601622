# The jobs of CI, which .ci/job sources: job_NAME PART PARTS, where a job that can be cut does that part of its work.
fuzz_seconds=${AUGUR_CI_FUZZ_SECONDS:-20}

# The lines of a list that a part of it gets: every PARTS-th.
part_of() { # PART PARTS
  awk -v part="$1" -v parts="$2" 'NR % parts == part % parts'
}

trained() {
  make train && cmake --build --preset release -j "$(nproc)" --target train_tests &&
    scripts/run_tests.sh release -L '^train$'
}

# Builds the test programs of some modules under a sanitizer and runs them.
sanitized() { # PRESET LEFT_OUT MODULE...
  local preset=$1 left_out=$2 modules
  shift 2
  modules=$(IFS='|'; echo "$*")
  build_targets "$preset" "${@/%/_tests}" && scripts/run_tests.sh "$preset" -L "^($modules)\$" -E "$left_out"
}

# Builds targets, or fails the job that asks.
built() { # PRESET TARGET...
  need "build of ${*:2}" build_targets "$@"
}

build_targets() { # PRESET TARGET...
  cmake --preset "$1" --log-level=WARNING && cmake --build --preset "$1" -j "$(nproc)" --target "${@:2}"
}

# The fuzzers' build is that of the address sanitizer's tests.
fuzzer_folder=build/asan-ubsan/bin

# Runs a fuzzer on its seeds and on what earlier runs found. What it prints of use is kept for the report.
fuzz() { # NAME
  local name=$1 seeds=()
  [[ -d tests/fuzz/corpus/$name ]] && seeds=("tests/fuzz/corpus/$name")
  mkdir -p "build/fuzzing/corpus/$name"
  timeout --foreground $((fuzz_seconds + 60)) "$fuzzer_folder/fuzz_$name" -max_total_time="$fuzz_seconds" -timeout=20 \
    -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -artifact_prefix="build/fuzzing/$name-" \
    "build/fuzzing/corpus/$name" "${seeds[@]}" >"build/fuzzing/$name.log" 2>&1
  echo $? >"build/fuzzing/$name.status"
}

fuzz_report() { # NAME
  local status input
  status=$(cat "build/fuzzing/$1.status")
  grep -E '^(stat::(number|average)|SUMMARY|Done|terminate|[A-Za-z]*[Ee]rror)|what\(\):|ERROR|artifact' \
    "build/fuzzing/$1.log" | tail -n 20
  if [[ $status -ne 0 ]]; then  # where it failed, and the input itself: this report may be all that is kept
    grep -E '^ *#[0-9]+ .*(augur|src/)' "build/fuzzing/$1.log" | head -n 12
    for input in "build/fuzzing/$1-"*; do
      [[ -s $input ]] && echo "input, base64: $(head -c 16384 "$input" | base64 -w 0)"
    done
  fi
  return "$status"
}

job_test() {
  heading "a real model for the tests that take one"
  scripts/bootstrap.sh && scripts/get_model.sh || echo "going on without: those tests skip themselves"
  tests "make test" make test
}

job_style() {
  check "format" make format-check
  check "links in the documentation" make docs
}

# The pages as a site, without a warning.
job_site() {
  check_or_skip "site" docs/site/make_site.py
}

# Real models and the simulations of `auto` are left to `make test`: what they would add under sanitizers is not worth
# their minutes.
job_address() {
  tests "address and undefined-behaviour sanitizers" sanitized asan-ubsan 'SmolLM2|Gemma3|^(Auto|Prompt)Simulation' \
    base plan files text checkpoint grammar kernels law sampling model vocab tree cost policy auto draft verify decode engine \
    session server hostile c_api contract parity corpus trace suite
}

# With two kernel variants; the kernels' own tests cover all. What needs many samples shows nothing more here.
job_lossless() {
  tests "whole decodings under the sanitizers" sanitized asan-ubsan \
    'SmolLM2|Gemma3|^Isas/Lossless.*/(portable|avx512)$|KeepsTheLaw|FiveHundred' lossless
}

# Each fuzzer for a while.
job_fuzz() {
  local names=() name
  mapfile -t names < <(basename -s .cpp -a tests/fuzz/fuzz_*.cpp | sed 's/^fuzz_//' | part_of "$@")
  heading "fuzzers: ${names[*]}"
  built asan-ubsan "${names[@]/#/fuzz_}" || return
  for name in "${names[@]}"; do
    fuzz "$name" &
    while [[ $(jobs -rp | wc -l) -ge $(nproc) ]]; do wait -n; done
  done
  wait
  for name in "${names[@]}"; do check "fuzzer: $name" fuzz_report "$name"; done
}

# What shares memory between threads: the team, and sessions that share it. One kernel variant shows that.
job_thread() {
  tests "thread sanitizer" sanitized tsan 'SmolLM2|^Isas/' base decode session server c_api
}

job_train() {
  heading "libtorch"
  if ! scripts/bootstrap.sh --train; then
    skip "training (libtorch could not be installed)"
    return
  fi
  tests "training" trained
  # These skipped themselves in `make test`: the training program was not there.
  tests "augur train" scripts/run_tests.sh release -L '^cli$' -R '^Training'
}

# Clients of others as they are, schemas, and what stands around a server, with a chat in both browsers. In every run
# nothing of it may be skipped.
job_clients() {
  heading "clients"
  local strict=()
  [[ ${AUGUR_CI_EVERY_RUN:-0} == 1 ]] && strict=(--skips-fail)
  tests "clients, schemas, operation" tests/run_pytest.sh -q --install "${strict[@]}" \
    tests/clients tests/schemas tests/operation --ignore-glob='tests/operation/test_page_*.py'
}

# All else of the chat page; a part is a browser.
job_page() {
  local browsers=()
  mapfile -t browsers < <(printf '%s\n' chromium firefox | part_of "$@")
  heading "chat page: ${browsers[*]}"
  tests "chat page: ${browsers[*]}" tests/run_pytest.sh -q --install "${browsers[@]/#/--browser=}" \
    tests/operation/test_page_*.py
}

# Headers compiled by themselves: precompiled headers and the order of includes hide an include that is missing.
job_headers() {
  check "headers alone" headers_alone
}

headers_alone() {
  cmake --preset release -B build/alone -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DAUGUR_BUILD_TESTS=OFF \
    -DAUGUR_HEADERS_ALONE=ON --log-level=WARNING &&
    cmake --build build/alone -j "$(nproc)" --target headers_alone
}

job_tidy() {
  check "clang-tidy, part $1 of $2" make tidy FILES="$(find src -name '*.cpp' | sort | part_of "$@" | paste -sd' ')"
}

# The Python package: its wheel from the objects that are there, its types, its tests.
job_python() {
  built release augur_program augur_lab_program augur_shared || return
  tests "python" tests/run_python.sh -q
}

# The Python package with lm-eval, Ray and notebooks.
job_python_extras() {
  built release augur_program augur_lab_program augur_shared || return
  AUGUR_PYTHON_EXTRAS=1 tests "python extras" tests/run_python.sh -q -k "lm_eval or ray or notebooks or examples"
}

# A release of this commit, made and proved in clean roots, and its binary interface beside the last release's.
job_package() {
  heading "package"
  scripts/bootstrap.sh --release || { skip "package (its tools could not be installed)"; return; }
  built release augur_program augur_lab_program augur_shared || return
  check_or_skip "package" scripts/release.sh --build build/release --out build/package --check
  check "binary interface" deploy/release/abi.sh check
  check "bill of materials" bill_is_valid build/package/*.cdx.json
}

bill_is_valid() { # FILE
  { [[ -x build/cyclonedx/bin/pip ]] || python3 -m venv build/cyclonedx; } &&
    build/cyclonedx/bin/pip install -q --require-hashes --no-deps -r deploy/release/validator_requirements.txt &&
    build/cyclonedx/bin/python - "$1" <<'END'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(str(problem) if problem else 0)
END
}

# The same tokens on processors that this machine is not.
job_emulator() {
  heading "emulator"
  if ! command -v qemu-x86_64 >/dev/null && ! as_root apt-get install -y -qq qemu-user >/dev/null; then
    skip "emulator (qemu-user could not be installed)"
    return
  fi
  built release augur_program kernels_tests || return
  local cpu
  for cpu in Nehalem Haswell; do
    check "the same tokens on $cpu" same_tokens "$cpu"
    check "kernels on $cpu" qemu-x86_64 -cpu "$cpu" build/release/bin/kernels_tests \
      --gtest_filter='*Attention*:*TopK*:*Quantize*' --gtest_brief=1
  done
}

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# Plainly and with look-ups, in several types of weights, keys and values.
same_tokens() { # CPU
  local flags here there
  for flags in "" "--spec-type ngram" "--weights f32" "--kv-type f32 --spec-type ngram"; do
    # shellcheck disable=SC2206
    local command=(build/release/augur generate -m models/stories260k -p "Once upon a time" -n 48 --temp 0.7 --seed 5
      --json $flags)
    here=$("${command[@]}" | python3 -c 'import json, sys; print(json.load(sys.stdin)["tokens"])') || return 1
    there=$(qemu-x86_64 -cpu "$1" "${command[@]}" |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["tokens"])') || return 1
    if [[ $here != "$there" ]]; then
      printf '%s %s\nhere: %s\n%s: %s\n' "${command[@]:1}" "$here" "$1" "$there"
      return 1
    fi
  done
}

# llama.cpp beside us: it builds, both answer.
job_peers() {
  heading "peers"
  local llama
  if ! llama=$(scripts/get_llama_cpp.sh); then
    skip "peers (llama.cpp could not be had)"
    return
  fi
  built release augur_program augur_lab_program || return
  mkdir -p build/ci-peers
  local draft=build/ci-peers/draft.gguf
  [[ -s $draft ]] || check "a draft for both" build/release/augur quantize models/smollm2-draft-11m $draft q4_1 || return
  check "llama.cpp beside us" env LLAMA="$llama" build/release/augur bench suite -m "$(scripts/get_model.sh)" -md $draft \
    --peers llama.cpp --methods ngram:n-max=8 draft:n-max=3 --prompts prompts/mt_bench.jsonl --limit 1 --turns 1 --rounds 1 -n 16 \
    --analyse 0 --samples 0 --json build/ci-peers/peers.json
}

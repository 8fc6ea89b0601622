#!/usr/bin/env bash
# slowhttptest (Debian's package of that name) against `augur serve`: hundreds of connections that send headers or
# bodies by the byte, or read slowly, must not keep others from their answers. One ordinary request a second is timed
# meanwhile; fails where one is not answered, takes longer than ten seconds, or the server does not end with 0.
#
# usage: scripts/check_slow_clients.sh [SECONDS]      of each kind (30)
#   AUGUR  the program (build/release/augur)          MODEL  (models/stories260k)     CONNECTIONS  (400)
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
connections=${CONNECTIONS:-400}
command -v slowhttptest > /dev/null || { echo "check_slow_clients: skipped, no slowhttptest" >&2; exit 77; }
log=$(mktemp)
"${AUGUR:-build/release/augur}" serve -m "${MODEL:-models/stories260k}" --port 0 --no-log-requests > "$log" &
server=$!
trap 'kill "$server" 2> /dev/null || true; rm -f "$log"' EXIT
until url=$(grep -om1 'http://[0-9.]*:[0-9]*' "$log"); do kill -0 "$server"; sleep 0.1; done

status=0
body='{"prompt": "Once upon a time", "max_tokens": 16, "temperature": 0}'
expected=
for kind in "-H -t POST" "-B -t POST -s 8192" "-X -t GET -w 10 -y 20 -n 5 -z 8 -k 3"; do
  path=/v1/completions
  [[ $kind == -X* ]] && path=/openapi.json
  # shellcheck disable=SC2086
  slowhttptest $kind -u "$url$path" -c "$connections" -r 200 -i 5 -l "$seconds" -p 5 > "$log.tool" 2>&1 &
  tool=$!
  longest=0 asked=0
  while kill -0 "$tool" 2> /dev/null; do
    begin=$(date +%s%N)
    if ! answer=$(curl -sf -m 10 -d "$body" "$url/v1/completions" | sed 's/.*"text":"\([^"]*\)".*/\1/'); then
      echo "slowhttptest $kind: a request was not answered" >&2
      status=1
    elif [[ -n "$expected" && "$answer" != "$expected" ]]; then
      echo "slowhttptest $kind: '$answer', expected '$expected'" >&2
      status=1
    fi
    expected=${expected:-$answer}
    took=$((($(date +%s%N) - begin) / 1000000))
    longest=$((took > longest ? took : longest))
    asked=$((asked + 1))
    sleep 1
  done
  wait "$tool" || true
  if [[ $asked -lt 3 ]]; then
    echo "slowhttptest $kind: it ended at once: $(tail -n 3 "$log.tool")" >&2
    status=1
  fi
  rss=$(awk '/VmRSS/ {print int($2 / 1024)}' "/proc/$server/status")
  echo "slowhttptest $kind: $asked requests beside $connections connections, at most $longest ms, $rss MiB"
done
rm -f "$log.tool"
kill -TERM "$server"
wait "$server" || { echo "the server ended with $?" >&2; status=1; }
exit "$status"

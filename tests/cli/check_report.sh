#!/usr/bin/env bash
# Opens a page of `augur bench suite --report` in headless Chromium at phone and desktop width, light and dark, and
# fails where its script fails, the page is wider than the window, or labels of its drawings lie over one another or
# beyond the drawing. Screenshots go to OUT, if given.
#
# usage: tests/cli/check_report.sh PAGE [OUT]     exit status 77: there is no Chromium
set -euo pipefail

page=$(realpath "$1")
out=${2:-}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z "$browser" ]]; then
  echo "check_report: no Chromium here; not checked" >&2
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
complain() { # TEXT
  echo "check_report: $theme, $width px: $1" >&2
  status=1
}
for theme in light dark; do
  for width in 400 1280; do
    # A frame of that width, because windows have a least width of their own. What the page says of itself is
    # copied to where --dump-dom sees it.
    cat > "$work/frame.html" <<HTML
<!doctype html><html><body style="margin:0">
<iframe src="file://$page#$theme-check" style="border:0;width:${width}px;height:9000px"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => setTimeout(() =>
  Object.assign(document.documentElement.dataset, frame.contentDocument.documentElement.dataset), 200);
</script></body></html>
HTML
    flags=(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --allow-file-access-from-files
           --user-data-dir="$work/profile" --window-size=$((width < 500 ? 500 : width)),9000 --virtual-time-budget=4000)
    if [[ -n "$out" ]]; then
      mkdir -p "$out"
      "$browser" "${flags[@]}" --screenshot="$(realpath "$out")/$theme-$width.png" "file://$work/frame.html" >/dev/null 2>&1 || true
    fi
    if ! "$browser" "${flags[@]}" --enable-logging=stderr --v=0 --dump-dom "file://$work/frame.html" > "$work/dom.html" 2> "$work/log"; then
      complain "Chromium failed: $(tail -5 "$work/log")"
      continue
    fi
    if grep -E 'CONSOLE.*(Uncaught|Error)' "$work/log" >&2 || ! grep -q 'data-ready="true"' "$work/dom.html"; then
      complain "the page's script failed"
    fi
    if grep -q 'data-wider="' "$work/dom.html"; then
      complain "wider than the window: $(grep -o 'data-wider="[^"]*"' "$work/dom.html")"
    fi
    if grep -q 'data-faults="[^"]' "$work/dom.html"; then
      complain "$(grep -o 'data-faults="[^"]*"' "$work/dom.html")"
    fi
  done
done
exit $status

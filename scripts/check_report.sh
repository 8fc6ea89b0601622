#!/usr/bin/env bash
# Opens a page of `augur bench suite --report` in headless Chromium at phone and desktop width, light and dark, and
# fails where its script fails or the page is wider than the window. Screenshots go to OUT, if given.
#
# usage: scripts/check_report.sh PAGE [OUT]     exit status 77: there is no Chromium
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
for theme in light dark; do
  for width in 390 1280; do
    # A frame of that width: windows have a least width of their own.
    cat > "$work/frame.html" <<HTML
<!doctype html><html><body style="margin:0"><iframe src="file://$page#$theme" style="border:0;width:${width}px;height:9000px"></iframe></body></html>
HTML
    flags=(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --allow-file-access-from-files
           --user-data-dir="$work/profile" --window-size=$((width < 500 ? 500 : width)),9000 --virtual-time-budget=4000)
    if [[ -n "$out" ]]; then
      mkdir -p "$out"
      "$browser" "${flags[@]}" --screenshot="$(realpath "$out")/$theme-$width.png" "file://$work/frame.html" >/dev/null 2>&1 || true
    fi
    if ! "$browser" "${flags[@]}" --enable-logging=stderr --v=0 --window-size=$width,1200 --dump-dom "file://$page#$theme" \
        > "$work/dom.html" 2> "$work/log"; then
      echo "check_report: $theme, $width px: Chromium failed" >&2
      tail -5 "$work/log" >&2
      status=1
      continue
    fi
    if grep -E 'CONSOLE.*(Uncaught|Error)' "$work/log" >&2 || ! grep -q 'data-ready="true"' "$work/dom.html"; then
      echo "check_report: $theme, $width px: the page's script failed" >&2
      status=1
    fi
    if grep -q 'data-wider="' "$work/dom.html"; then
      echo "check_report: $theme, $width px: wider than the window: $(grep -o 'data-wider="[^"]*"' "$work/dom.html")" >&2
      status=1
    fi
  done
done
exit $status

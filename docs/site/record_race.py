#!/usr/bin/env python3
"""Records docs/race.webp: a race of the chat page, plainly and with speculation, in headless Chromium.

The picture plays SLOWER times slower than the race ran, and stays on its last frame for a while. Run nothing else
meanwhile. Chromium and its driver are Debian's (chromium, chromium-driver), the program is the built one, and the model
is that of scripts/get_model.sh:

    python3 -m venv build/race-venv && build/race-venv/bin/pip install selenium pillow
    build/race-venv/bin/python docs/site/record_race.py
"""
import base64
import io
import pathlib
import shutil
import subprocess
import sys
import time

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from augur_server import Server  # noqa: E402
from browser_page import Page  # noqa: E402

PICTURE = ROOT / "docs/race.webp"
LIMIT = 500_000  # bytes
SLOWER = 4
LAST = 6000  # ms that the result is shown
WIDTH, HEIGHT = 900, 790  # pixels; what is below, the composer, is cut off
QUESTION = "Write a Python function that adds the numbers of a list, and explain it."


def need(program, package):
    return shutil.which(program) or sys.exit(f"record_race: no {program}; apt-get install {package}")


def frame(page):
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "jpeg", "quality": 95, "optimizeForSpeed": True})
    return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB").crop((0, 0, WIDTH, HEIGHT))


def race(page):
    """Frames, the seconds at which each was taken, and the page's verdict."""
    page.press("#view-tokens")
    page.set("max-tokens", 100)
    page.set("temperature", 0)
    page.one("#prompt").send_keys(QUESTION)
    page.press("#race")
    frames, times = [], []
    while True:
        done = page.idle()
        frames.append(frame(page))
        times.append(time.monotonic())
        if done and len(frames) > 3:
            return frames, times, page.text(".verdict")


def main():
    model = subprocess.run([ROOT / "scripts/get_model.sh"], check=True, capture_output=True, text=True).stdout.strip()
    with Server(model, "--weights", "bf16", "-md", ROOT / "models/smollm2-eagle3", stderr=subprocess.DEVNULL) as server:
        # The first request measures what drafting costs here; the race is of a server that knows.
        server.ask("POST", "/v1/completions", {"prompt": "One, two,", "max_tokens": 200, "temperature": 0})
        with Page(server.url, need, size=(WIDTH, HEIGHT + 130)) as page:
            frames, times, verdict = race(page)
    if not verdict.startswith("identical"):
        sys.exit(f"record_race: the race ended in '{verdict}'")
    spans = [round(1000 * SLOWER * (after - before)) for before, after in zip(times, times[1:])] + [LAST]
    for quality in (80, 60, 40, 25):
        frames[0].save(PICTURE, save_all=True, append_images=frames[1:], duration=spans, loop=0, quality=quality, method=4)
        if (size := PICTURE.stat().st_size) <= LIMIT:
            break
    else:
        sys.exit(f"record_race: {size} bytes, expected at most {LIMIT}")
    print(f"docs/race.webp: {len(frames)} frames in {times[-1] - times[0]:.1f} s, {size} bytes; {verdict}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Records docs/race.webp: a race of the chat page, plainly and with speculation, in headless Chromium.

Needs selenium and pillow, chromium and chromium-driver, and the built program; the model is that of get_model.sh.

usage: PYTHON docs/site/record_race.py
"""
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
from chromium_page import Page  # noqa: E402

LIMIT = 300_000  # bytes


def main():
    model = subprocess.run([ROOT / "scripts/get_model.sh"], check=True, capture_output=True, text=True).stdout.strip()
    frames, times = [], []
    with Server(model, "-md", str(ROOT / "models/smollm2-eagle3"), stderr=subprocess.DEVNULL) as server, \
            Page(server.url, lambda program, package: shutil.which(program), size=(900, 640)) as page:
        page.set("max-tokens", 160)
        page.set("temperature", 0)
        page.ask("Write a Python function that adds the numbers of a list, and explain it.", "#race")
        while True:
            done = page.idle()
            frames.append(Image.open(io.BytesIO(page.driver.get_screenshot_as_png())).convert("RGB").resize((720, 512)))
            times.append(time.monotonic())
            if done and len(frames) > 3:
                break
        verdict = page.text(".verdict")
    if not verdict.startswith("identical"):
        sys.exit(f"record_race: the race ended in '{verdict}'")
    spans = [round(1000 * (after - before)) for before, after in zip(times, times[1:])] + [4000]
    for quality in (60, 40, 25, 15):
        frames[0].save(ROOT / "docs/race.webp", save_all=True, append_images=frames[1:], duration=spans, loop=0,
                       quality=quality, method=4)
        size = (ROOT / "docs/race.webp").stat().st_size
        if size <= LIMIT:
            break
    else:
        sys.exit(f"record_race: {size} bytes, expected at most {LIMIT}")
    print(f"docs/race.webp: {len(frames)} frames, {size} bytes; {verdict}")


if __name__ == "__main__":
    main()

"""What two prompts have in common at their beginning, by hashes of its pages."""
from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

PAGE = 256
"""Bytes of a page."""
MOST = 32
"""Pages of a prompt that are looked at."""


def pages_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """A hash for each whole page of a request's prompt, each of all bytes up to its page's end: two prompts share as
    many hashes as whole pages. Empty for a short prompt, or none."""
    for field in ("messages", "prompt", "input", "input_prefix"):
        if field in body:
            start = [body.get("system") or body.get("instructions"), body.get("tools"), body[field]]
            text = repr(start).encode(errors="replace")[:PAGE * MOST]
            break
    else:
        return ()
    hashed = hashlib.blake2b(digest_size=12)
    pages = []
    for begin in range(0, len(text) - PAGE + 1, PAGE):
        hashed.update(text[begin:begin + PAGE])
        pages.append(hashed.hexdigest())
    return tuple(pages)

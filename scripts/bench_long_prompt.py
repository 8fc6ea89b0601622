#!/usr/bin/env python3
"""What a long prompt does to those who are reading along: gaps between the events of streams, without and with a prompt
that arrives among them, in turn.

  scripts/bench_long_prompt.py -m MODEL [-md DRAFT] [--spec-type TYPES] [--prompt-tokens 4000] [--streams 4]

Also the second turn of such a conversation: its first token against the first turn's. Client and server share the cores.
"""
import argparse
import json
import threading
import time

from server_process import Server, add_arguments, drafting

TEXT = "The quick brown fox jumps over the lazy dog and runs into the forest, where nobody has ever seen it again. "


def stream(server, body, gaps=None):
    """Appends (when, seconds since the last event with text); returns the seconds to the first one, and the text."""
    connection = server.connect()
    begin = last = time.monotonic()
    connection.request("POST", "/v1/completions", json.dumps({**body, "temperature": 0, "stream": True}))
    first, text = None, ""
    for line in connection.getresponse():
        if not line.startswith(b"data: {"):
            continue
        piece = json.loads(line[6:])["choices"][0]["text"]
        if not piece:
            continue
        text += piece
        now = time.monotonic()
        if first is None:
            first = now - begin
        elif gaps is not None:
            gaps.append((now, now - last))
        last = now
    connection.close()
    return first, text


def share(gaps, of):
    ordered = sorted(gap for _, gap in gaps)
    return 1000 * ordered[min(len(ordered) - 1, int(of * len(ordered)))]


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--prompt-tokens", type=int, default=4000)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=600, help="of each stream")
    parser.add_argument("--prompt-share", type=float, default=1, help="as of `augur serve`")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    server = Server([args.augur, "serve", "-m", args.model, "--port", "0", "--no-log-requests", "--prompt-share",
                     str(args.prompt_share)] + drafting(args))
    per_text = server.post("/tokenize", {"content": TEXT * 10})[1]["tokens"]
    ids = (per_text * (args.prompt_tokens // len(per_text) + 1))[:args.prompt_tokens]

    def streams(prompt):
        gaps, window = [], []
        threads = [threading.Thread(target=stream, args=(server, {
            "prompt": f"Story number {i}: once upon a time", "max_tokens": args.tokens, "ignore_eos": True}, gaps))
            for i in range(args.streams)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        begin = time.monotonic()
        if prompt:
            first, _ = stream(server, {"prompt": ids, "max_tokens": 1, "cache_prompt": False})
            window = [gap for gap in gaps if gap[0] >= begin and gap[0] - gap[1] <= begin + first]
        for thread in threads:
            thread.join()
        print(f"{'with the prompt' if prompt else 'alone':<16} p50 {share(gaps, 0.5):6.1f} ms, p99 {share(gaps, 0.99):6.1f} ms, "
              f"longest {share(gaps, 1):6.1f} ms" + (f"; while it is read ({first:.1f} s): p50 {share(window, 0.5):.1f} ms, "
                                                    f"p99 {share(window, 0.99):.1f} ms" if prompt else ""), flush=True)
        return share(gaps, 0.99), share(window, 0.99) if prompt else None

    streams(False)  # warms up
    for _ in range(args.rounds):
        alone, _ = streams(False)
        whole, while_read = streams(True)
        print(f"p99 with it over without: {whole / alone:.2f}, while it is read {while_read / alone:.2f}")
    for turn in range(args.rounds):
        start = server.post("/tokenize", {"content": f"Conversation {turn}. "})[1]["tokens"] + ids
        first, text = stream(server, {"prompt": start, "max_tokens": 32})
        more = server.post("/tokenize", {"content": text + " And then?"})[1]["tokens"]
        second, _ = stream(server, {"prompt": start + more, "max_tokens": 32})
        print(f"first turn {1000 * first:.0f} ms to the first token, second {1000 * second:.1f} ms: {second / first:.3f}")
    server.close()


if __name__ == "__main__":
    main()

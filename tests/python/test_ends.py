"""How generations end before they would: closed, collected, cancelled, interrupted, with the interpreter, in a fork."""
import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

import augur
from augur_server import PATIENCE

ENDLESS = {"ignore_eos": True, "temperature": 1.0}


def runs_nothing(engine):
    """Waits until the engine runs nothing."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        load = engine.load
        if load.running + load.waiting == 0:
            return True
    return False


def test_a_stream_that_is_left(engine):
    with engine.stream("Once", **ENDLESS) as stream:
        next(stream)
    result = stream.result()
    assert result.finish_reason == "cancelled"
    assert result.ids


def test_a_stream_that_is_collected(engine):
    stream = engine.stream("Once", **ENDLESS)
    next(stream)
    del stream
    gc.collect()
    assert runs_nothing(engine)


def test_a_batch_that_is_left(engine):
    results = engine.generate_each(("Once", {**ENDLESS, "max_tokens": 4 if n == 0 else None}) for n in range(8))
    next(results)
    results.close()
    assert runs_nothing(engine)


def test_an_engine_is_collected_with_its_stream(stories):
    engine = augur.Engine(stories)
    stream = engine.stream("Once", **ENDLESS)
    next(stream)
    gone = weakref.ref(engine)
    del engine
    assert next(stream).text is not None  # it holds the engine
    del stream
    gc.collect()
    assert gone() is None


def test_async_streams_run_together(engine):
    async def text(seed):
        return [token.text async for token in engine.astream("Once", max_tokens=32, temperature=1.0, seed=seed)]

    async def all_of_them():
        return await asyncio.gather(*map(text, range(8)))

    texts = ["".join(pieces) for pieces in asyncio.run(all_of_them())]
    assert texts == [engine.generate("Once", max_tokens=32, temperature=1.0, seed=seed).text for seed in range(8)]


def test_agenerate(engine):
    async def both():
        return await asyncio.gather(*(engine.agenerate("Once", max_tokens=16, seed=s, temperature=1.0, trace=True) for s in (1, 2)))

    for seed, result in zip((1, 2), asyncio.run(both())):
        assert result.ids == engine.generate("Once", max_tokens=16, seed=seed, temperature=1.0).ids
        assert tuple(token.id for token in result.tokens) == result.ids


def test_agenerate_raises(engine):
    with pytest.raises(augur.RefusedFieldError):
        asyncio.run(engine.agenerate("Once", temperature=-1.0))


def test_a_task_that_is_cancelled(engine):
    async def cancelled():
        task = asyncio.create_task(engine.agenerate("Once", **ENDLESS))
        async for _ in engine.astream("Once", max_tokens=8):
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert runs_nothing(engine)


def test_an_async_stream_that_is_left(engine):
    async def left():
        async with engine.astream("Once", **ENDLESS) as stream:
            async for _ in stream:
                break
        return await stream.result()

    assert asyncio.run(left()).finish_reason == "cancelled"


def test_other_threads_run_while_it_generates(engine):
    """One generation at a time, waited for in a single call; a counting thread goes on meanwhile."""
    counted, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    streams = [engine.stream("Once", **ENDLESS) for _ in range(100)]
    thread.start()
    before = counted[0]
    streams[-1].result()
    after = counted[0]
    ended.set()
    thread.join()
    assert after - before > 100


INTERRUPTED = """
import sys, threading, time, os, signal
import augur
engine = augur.Engine(sys.argv[1])
engine.generate("Once", max_tokens=4)
sent = 0
def interrupt():
    global sent
    next(engine.stream("Once", max_tokens=8))
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.1, interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent, flush=True)
print(engine.generate("Once", max_tokens=4).finish_reason)
"""


@pytest.mark.parametrize("call", [
    'engine.generate(["Once"] * 4, ignore_eos=True, speculation="none")',
    'engine.stream("Once", ignore_eos=True, speculation="none").result()',
    'engine.generate("Once", temperature=1.0, grammar=augur.Grammar("regex", "[a-z ]*"))',
])
def test_ctrl_c_stops_a_generation(run_python, stories, call):
    code, out, err = run_python(INTERRUPTED.replace("{call}", f"while True: {call}"), stories)
    assert code == 0, err
    first, last = out.splitlines()
    assert first.startswith("interrupted") and last == "length"


AT_EXIT = """
import sys, threading
import augur
engine = augur.Engine(sys.argv[1])
streams = [engine.stream("Once", ignore_eos=True) for _ in range(3)]
def read():
    while True:
        for token in engine.stream("Once", ignore_eos=True): pass
threads = [threading.Thread(target=read, daemon=True) for _ in range(4)]
for thread in threads: thread.start()
next(streams[0])
print("leaving", flush=True)
{end}
"""


@pytest.mark.parametrize("end, code", [("", 0), ("sys.exit(3)", 3), ("raise SystemExit(4)", 4)])
def test_the_interpreter_ends_with_running_streams(run_python, stories, end, code):
    assert run_python(AT_EXIT.replace("{end}", end), stories)[:2] == (code, "leaving\n")


def test_nothing_is_left_at_the_interpreters_end(run_python, stories):
    """The binding prints on stderr what of its objects is left."""
    script = """
import sys, augur
engine = augur.Engine(sys.argv[1])
result = engine.generate("Once", max_tokens=4, trace=True)
stream = engine.stream("Once", ignore_eos=True)
next(stream)
try:
    engine.generate("Once", temperature=-1.0)
except augur.Error as error:
    kept = error
"""
    assert run_python(script, stories) == (0, "", "")


FORKED = """
import os, sys
import augur
model = sys.argv[1]
engine = augur.Engine(model)
stream = engine.stream("Once", ignore_eos=True)
next(stream)
child = os.fork()
if child == 0:
    assert engine.tokenize("Once") == augur.Engine(model).tokenize("Once")
    for call in (lambda: engine.generate("Once"), lambda: engine.stream("Once"), lambda: stream.result(),
                 lambda: list(stream), engine.costs):
        try:
            call()
        except augur.MisuseError:
            continue
        print("no error")
    print(augur.Engine(model).generate("Once", max_tokens=4).finish_reason, flush=True)
    del stream
    engine.close()
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(next(stream).text is not None)
"""


def test_a_child_of_fork(run_python, stories):
    code, out, err = run_python(FORKED, stories)
    assert (code, out.split()) == (0, ["length", "5", "True"]), err


def test_two_engines(stories, engine):
    with augur.Engine(stories, threads=1) as other:
        ours, theirs = engine.stream("Once", max_tokens=64), other.stream("Once", max_tokens=64)
        pairs = list(zip(ours, theirs))
    assert [a.id for a, _ in pairs] == [b.id for _, b in pairs]


def test_the_program_is_there():
    done = subprocess.run([sys.executable, "-m", "augur", "--version"], check=True, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert augur.__version__ in done.stdout


def test_progress(stories, capsys):
    said = []
    with augur.Engine(stories, progress=lambda what, fraction: said.append(fraction)):
        assert said == sorted(said) and said[-1] == 1.0
    with augur.Engine(stories, progress=True):
        assert "100%" in capsys.readouterr().err


def test_what_progress_raises_ends_the_loading(stories):
    def refuse(what, fraction):
        raise KeyError(what)

    with pytest.raises(KeyError):
        augur.Engine(stories, progress=refuse)


def test_loading_can_be_interrupted(stories):
    def interrupt(what, fraction):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        augur.Engine(stories, progress=interrupt)

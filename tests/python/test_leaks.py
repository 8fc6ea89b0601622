"""Many generations from many threads, cancelled at random: nothing leaks, nothing crashes."""
import gc
import random
import sys
import threading

import pytest

import augur
from augur import _core
from own_code import Bigram, Eagle2Tree

THREADS = 8
WARM = 400


def resident():
    """Bytes that the process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def churn(engine, calls, seed, **more):
    """So many calls of each kind in random order from all threads, most of which are ended early; what failed. `more`:
    further options."""
    failures = []

    def work(number):
        chance = random.Random(seed + number)
        try:
            for _ in range(calls // THREADS):
                kind = chance.randrange(4)
                options = {"max_tokens": chance.randrange(1, 64), "temperature": chance.choice([0.0, 1.0]), "seed": chance.randrange(99),
                           "speculation": chance.choice(["none", "ngram"]), "trace": chance.random() < 0.2, **more}
                if kind == 0:
                    engine.generate("Once upon a time", **options)
                elif kind == 1:
                    with engine.stream("Once upon a time", **options) as stream:
                        for _, _ in zip(range(chance.randrange(8)), stream):
                            pass
                elif kind == 2:
                    stream = engine.stream("Once upon a time", **options)
                    next(stream)
                    del stream
                else:
                    stream = engine.stream("Once upon a time", **options)
                    stream.close()
                    stream.result()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def generations():
    """How many generations Python holds."""
    gc.collect()
    return sum(type(one) is _core.Generation for one in gc.get_objects())


def test_cancelled_generations_leak_nothing(stories, say):
    with augur.Engine(stories, cache_bytes=0) as engine:
        assert churn(engine, WARM, 0) == []
        before, references = resident(), sys.getrefcount(engine)
        assert churn(engine, 800, 1) == []
        gc.collect()
        after = resident()
        assert generations() == 0
        assert sys.getrefcount(engine) == references
    say(f"{before >> 20} MiB before, {after >> 20} MiB after")
    assert after <= 1.03 * before


def test_own_code_leaks_nothing(stories):
    np = pytest.importorskip("numpy")

    def no_repeats(ids, row):
        row[ids[-1]] = -np.inf

    own = {"drafters": {"bigram": Bigram}, "policies": {"tree": Eagle2Tree}}
    with augur.Engine(stories, cache_bytes=0, spec="@bigram:policy=@tree", **own) as engine:
        before = sys.getrefcount(no_repeats)
        more = {"logits_processors": [no_repeats], "speculation": "@bigram:policy=@tree"}
        assert churn(engine, WARM, 2, **more) == []
    assert generations() == 0
    assert sys.getrefcount(no_repeats) == before + 1  # `more`

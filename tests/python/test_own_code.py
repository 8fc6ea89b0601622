"""Drafters and policies in Python: texts never change, counts are those of the built-in ones."""
import functools
import threading

import pytest

import augur
from augur_server import ROOT
from own_code import Bigram, Eagle2Tree, Wrapper

WRAPPED = ["draft", "ngram", "recycling"]
PROMPTS = ["Once upon a time", "The dog said", "One day the girl found a box and", "Tim and Sam"]
SAMPLINGS = [{}, {"temperature": 1.0, "seed": 9}]


@pytest.fixture(scope="module")
def own(stories):
    drafters = {"bigram": Bigram, **{f"my_{name}": functools.partial(Wrapper, of=name) for name in WRAPPED}}
    with augur.Engine(stories, draft=stories, draft_weights="q4_0", drafters=drafters, policies={"tree": Eagle2Tree}) as engine:
        yield engine


def counts(result):
    s = result.speculation
    return result.ids, s.calls, s.verified_tokens, s.drafted_tokens, s.accepted_tokens, s.accepted_per_position


@pytest.mark.parametrize("drafter", WRAPPED)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled"])
def test_a_policy_gives_the_counts_of_the_built_in_one(own, drafter, sampling):
    for prompt in PROMPTS:
        made = []
        for policy in ("@tree", "eagle2"):
            own.forget()
            made.append(own.generate(prompt, max_tokens=64, speculation=f"{drafter}:policy={policy}", **sampling))
        assert counts(made[0]) == counts(made[1])
        assert made[0].speculation.accepted_tokens > 0 or drafter != "draft"
        assert made[0].ids == own.generate(prompt, max_tokens=64, speculation="none", **sampling).ids


@pytest.mark.parametrize("drafter", WRAPPED)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled"])
def test_a_drafter_that_wraps_one_drafts_the_same(own, drafter, sampling):
    for prompt in PROMPTS:
        made = []
        for plan in (f"@my_{drafter}:policy=eagle2", f"{drafter}:policy=eagle2"):
            own.forget()
            made.append(own.generate(prompt, max_tokens=64, speculation=plan, **sampling))
        assert counts(made[0]) == counts(made[1])
        assert made[0].speculation.mean_accepted_length == made[1].speculation.mean_accepted_length


def test_a_draft_head_is_wrapped_and_steered(smollm2):
    draft = ROOT / "models/smollm2-eagle3"
    with augur.Engine(smollm2, draft=draft, drafters={"mine": functools.partial(Wrapper, of="eagle3")},
                      policies={"tree": Eagle2Tree}) as engine:
        plans = ("eagle3:policy=eagle2", "eagle3:policy=@tree", "@mine:policy=@tree")
        results = [engine.chat("Why is the sky blue?", max_tokens=48, speculation=plan) for plan in plans]
        assert counts(results[0]) == counts(results[1]) == counts(results[2])
        assert results[0].speculation.accepted_tokens > 0


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled"])
def test_a_drafter_of_its_own_changes_no_text(own, sampling):
    accepted = 0
    for plan in ("@bigram", "@bigram:policy=@tree", "@bigram,draft:policy=@tree"):
        results = own.generate(PROMPTS, max_tokens=64, speculation=plan, **sampling)
        assert [r.ids for r in results] == [r.ids for r in own.generate(PROMPTS, max_tokens=64, speculation="none", **sampling)]
        accepted += sum(result.speculation.accepted_tokens for result in results)
    assert accepted > 0


def test_what_they_are_told(stories):
    told = []

    class Tells(Eagle2Tree):
        needs_costs = True

        def __init__(self, setup):
            told.append(setup)

        def begin(self, round):
            super().begin(round)
            self.costs = round.costs
            told.append((round.costs.verify_ms(4) > 0, round.costs.draft_ms(0, 1) >= 0, round.costs.other_ms() >= 0))

        def observe(self, round):
            assert round.accepted[0] == 0 and len(round.tree) >= len(round.accepted)
            told.append(round)

    class Reads(Bigram):
        def propose(self, request):
            assert request.text[-1] == request.tokens[0] and request.parents[0] == -1
            return super().propose(request)

    with augur.Engine(stories, drafters={"reads": Reads}, policies={"tells": Tells}) as engine:
        told.clear()
        result = engine.generate(PROMPTS[0], max_tokens=24, trace=True, speculation="@reads:policy=@tells:width=3")
    setup = next(one for one in told if isinstance(one, augur.PolicySetup) and one.settings)
    assert (setup.drafter, setup.settings) == ("@reads", {"width": "3"})
    rounds = [one for one in told if isinstance(one, augur.VerifiedRound)]
    assert [one.next for one in rounds][-len(result.rounds):] == [made.next for made in result.rounds]
    assert (True, True, True) in told


class Fails(Bigram):
    def propose(self, request):
        raise ZeroDivisionError("mine")


class Lies(Bigram):
    def propose(self, request):
        return [(0, 10**6, 0.0)]


class Refuses(augur.Policy):
    def __init__(self, setup):
        raise LookupError(setup.drafter)

    def begin(self, round): ...

    def grow(self, tree):
        return [], 0


def test_what_goes_wrong_fails_its_request_only(stories):
    with augur.Engine(stories, drafters={"fails": Fails, "lies": Lies}, policies={"refuses": Refuses}, spec="none") as engine:
        plans = {"@fails:policy=eagle2": ZeroDivisionError, "none": None, "@lies:policy=eagle2": augur.MisuseError,
                 "ngram:policy=@refuses": LookupError}
        results = list(engine.generate_each(((PROMPTS[0], {"max_tokens": 16, "speculation": plan}) for plan in plans),
                                            errors="return"))
        for result, wanted in zip(results, plans.values()):
            assert wanted is None and result.error is None or isinstance(result.error, wanted)
        with pytest.raises(ZeroDivisionError, match="mine"):
            engine.generate(PROMPTS[0], speculation="@fails:policy=eagle2")


def test_a_built_in_one_is_lent(stories):
    made = []

    class Keeps(Wrapper):
        def __init__(self, setup):
            super().__init__(setup, "ngram")
            made.append((setup, self.inner))
            if len(made) == 1:
                raise LookupError("the first")

    with augur.Engine(stories, drafters={"keeps": Keeps}, spec="none") as engine:
        with pytest.raises(LookupError, match="the first"):
            engine.generate(PROMPTS[0], max_tokens=8, speculation="@keeps:policy=eagle2")
        assert engine.generate(PROMPTS[0], max_tokens=8, speculation="@keeps:policy=eagle2").ids
    assert len(made) > 1
    for setup, inner in made:
        for call in (lambda: inner.traits, lambda: inner.draft([0]), lambda: setup.built_in("ngram")):
            with pytest.raises(augur.MisuseError):
                call()


def test_threads_share_an_engine_with_them(own):
    wanted = [own.generate(prompt, max_tokens=48, speculation="none").ids for prompt in PROMPTS]
    made = [None] * len(PROMPTS)

    def generate(n):
        made[n] = own.generate(PROMPTS[n], max_tokens=48, speculation="@bigram:policy=@tree").ids

    threads = [threading.Thread(target=generate, args=(n,)) for n in range(len(PROMPTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == wanted


AT_EXIT = """
import sys
sys.path.insert(0, sys.argv[2])
import augur
from own_code import Bigram, Eagle2Tree
engine = augur.Engine(sys.argv[1], drafters={"bigram": Bigram}, policies={"tree": Eagle2Tree}, spec="@bigram:policy=@tree")
streams = [engine.stream("Once", ignore_eos=True, temperature=1.0) for _ in range(3)]
for _ in range(8): next(streams[0])
print("leaving", flush=True)
{end}
"""


@pytest.mark.parametrize("end", ["", "del streams, engine", "engine.close()"])
def test_the_interpreter_ends_with_running_ones(run_python, stories, end):
    assert run_python(AT_EXIT.replace("{end}", end), stories, ROOT / "tests/python") == (0, "leaving\n", "")

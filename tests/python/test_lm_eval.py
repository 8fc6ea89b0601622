"""The model of lm-eval: its command finds it, and its scores are those of the engine, whatever speculates."""
import importlib.util
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("lm_eval")

from lm_eval.api.instance import Instance  # noqa: E402

from augur.lm_eval import AugurLM  # noqa: E402
from augur_server import PATIENCE, ROOT  # noqa: E402

CONTEXT = "Once upon a time"
ITEMS = 6
TASKS = {
    "choices": """
task: augur_choices
output_type: multiple_choice
doc_to_text: "{{context}}"
doc_to_choice: "{{choices}}"
doc_to_target: 0
metric_list: [{metric: acc}, {metric: acc_norm}]
""",
    "rolling": """
task: augur_rolling
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list: [{metric: byte_perplexity}, {metric: word_perplexity}]
""",
    "writing": """
task: augur_writing
output_type: generate_until
doc_to_text: "{{context}}"
doc_to_target: "{{choices[0]}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 24, do_sample: false}
metric_list: [{metric: exact_match}]
""",
}
COMMON = """
dataset_path: json
dataset_kwargs: {{data_files: {{test: {items}}}}}
test_split: test
"""


@pytest.fixture(scope="module")
def model(engine):
    return AugurLM(engine)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """A folder of tasks whose items are made of the prompts of the repository."""
    folder = tmp_path_factory.mktemp("tasks")
    items = folder / "items.jsonl"
    with items.open("w", encoding="utf-8") as out:
        for line in (ROOT / "prompts/gsm8k.jsonl").read_text(encoding="utf-8").splitlines()[:ITEMS]:
            words = json.loads(line)["turns"][0].split()[:20]
            context, end = " ".join(words[:12]), " " + " ".join(words[12:])
            item = {"context": context, "choices": [end, " " + " ".join(reversed(words[12:]))], "text": context + end}
            out.write(json.dumps(item) + "\n")
    for name, text in TASKS.items():
        (folder / f"{name}.yaml").write_text(text + COMMON.format(items=items), encoding="utf-8")
    return folder


def asked(kind, *arguments):
    return [Instance(kind, {}, one, index) for index, one in enumerate(arguments)]


def test_a_continuation_scores_what_its_tokens_had_when_they_were_written(engine, model):
    written = engine.generate(CONTEXT, max_tokens=12, logprobs=1)
    context = engine.prompt_ids(CONTEXT)
    wanted = sum(place.logprob for place in written.logprobs)
    other = [*written.ids[:-1], written.logprobs[-1].top[0][0] ^ 1]
    (score, greedy), (_, still_greedy) = model._loglikelihood_tokens(
        [(None, context, list(written.ids)), (None, context, other)], disable_tqdm=True)
    assert score == pytest.approx(wanted, abs=1e-3)
    assert greedy and not still_greedy


def test_text_is_split_where_the_context_ends(engine, model):
    (score, _), (all_of_it, _) = model.loglikelihood(
        asked("loglikelihood", (CONTEXT, " there was a girl"), ("", f"{CONTEXT} there was a girl")), disable_tqdm=True)
    whole = engine.generate(f"{CONTEXT} there was a girl", max_tokens=0, logprobs=1, prompt_logprobs=True)
    places = [place.logprob for place in whole.prompt_logprobs]
    assert score == pytest.approx(sum(places[len(engine.prompt_ids(CONTEXT)) - 1:]), abs=1e-3)
    assert all_of_it == pytest.approx(sum(places), abs=1e-3)


def test_a_long_text_rolls_through_the_context(engine):
    short = AugurLM(engine, max_length=16)
    text = "One day the girl went to the park with her mom. " * 4
    ids = engine.tokenize(text, part=True)
    counted = []
    scores_of = short._scores_of
    short._scores_of = lambda asked: scores_of(counted.append(ids) or (ids, first) for ids, first in asked)
    (rolled,) = short.loglikelihood_rolling(asked("loglikelihood_rolling", (text,)), disable_tqdm=True)
    assert len(counted) > 1 and max(map(len, counted)) <= 16
    (whole,) = AugurLM(engine).loglikelihood_rolling(asked("loglikelihood_rolling", (text,)), disable_tqdm=True)
    assert whole > rolled  # more context predicts a repeated text better
    assert len(ids) > 16


def test_texts_end_before_a_stop_and_long_contexts_lose_their_beginning(engine, model):
    plain, stopped, long = model.generate_until(
        asked("generate_until", (CONTEXT, {"max_gen_toks": 24}), (CONTEXT, {"until": ["girl"], "max_gen_toks": 24}),
              (CONTEXT * 200, {"until": [], "max_gen_toks": 24})), disable_tqdm=True)
    assert plain == engine.generate(CONTEXT, max_tokens=24).text
    assert stopped == engine.generate(CONTEXT, max_tokens=24, stop="girl").text
    assert long
    with pytest.raises(ValueError, match="leaves no room"):
        model.generate_until(asked("generate_until", (CONTEXT, {"max_gen_toks": 4096})), disable_tqdm=True)
    with pytest.raises(TypeError, match="num_beams"):
        model.generate_until(asked("generate_until", (CONTEXT, {"num_beams": 4})), disable_tqdm=True)


def scores_of(stories, tasks, out, extra, module):
    flags = ["--model", "augur", "--model_args", f"model={stories},threads=1{extra}", "--include_path", tasks, "--tasks",
             "augur_choices,augur_rolling,augur_writing", "--output_path", out, "--log_samples"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(out)}
    done = subprocess.run([sys.executable, "-m", module, "run", *map(str, flags)], capture_output=True, text=True,
                          timeout=5 * PATIENCE, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    (results,) = out.rglob("results_*.json")
    samples = [json.loads(line)["resps"] for path in sorted(out.rglob("samples_*.jsonl"))
               for line in path.read_text(encoding="utf-8").splitlines()]
    return json.loads(results.read_text(encoding="utf-8"))["results"], samples


def test_the_command_scores_the_same_with_and_without_speculation(stories, tasks, tmp_path):
    plain, plain_samples = scores_of(stories, tasks, tmp_path / "plain", ",spec=none", "augur.lm_eval")
    fast, fast_samples = scores_of(stories, tasks, tmp_path / "fast", ",spec=ngram,parallel=5", "augur.lm_eval")
    assert fast_samples == plain_samples and len(plain_samples) == 3 * ITEMS
    for task in ("augur_choices", "augur_rolling", "augur_writing"):
        assert fast[task] == plain[task]
    assert 0 <= plain["augur_choices"]["acc,none"] <= 1
    assert plain["augur_rolling"]["byte_perplexity,none"] > 1


@pytest.mark.skipif(importlib.util.find_spec("augur_lm_eval_plugin") is None, reason="the package is not installed")
def test_lm_evals_own_command_knows_the_model():
    script = "import lm_eval.models, sys; from lm_eval.api.registry import get_model; print(get_model('augur').__name__)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split() == ["AugurLM"]
    quiet = "import sys; sys.exit(any(name.partition('.')[0] in ('augur', 'lm_eval') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", quiet], check=True, timeout=PATIENCE)

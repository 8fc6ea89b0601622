"""Ids are those of the program, whatever the request, and however it is asked."""
import json

import pytest

import augur
from augur_server import ROOT

PROMPT = "Once upon a time"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": False}
# Flags of the program, and the same as options.
REQUESTS = {
    "greedy": ([], {}),
    "seeded": (["--temp", 0.8, "--seed", 7], {"temperature": 0.8, "seed": 7}),
    "filtered": (["--temp", 1, "--top-k", 20, "--top-p", 0.9, "--min-p", 0.02, "--seed", 3],
                 {"temperature": 1.0, "top_k": 20, "top_p": 0.9, "min_p": 0.02, "seed": 3}),
    "penalised": (["--repeat-penalty", 1.3, "--presence-penalty", 0.4, "--frequency-penalty", 0.2, "--repeat-last-n", -1],
                  {"repetition_penalty": 1.3, "presence_penalty": 0.4, "frequency_penalty": 0.2, "penalty_window": -1}),
    "biased": (["--logit-bias", "432-100", "--logit-bias", "383+2"], {"logit_bias": {432: -100, 383: 2}}),
    "stopped": (["--stop", "girl"], {"stop": "girl"}),
    "without end": (["--ignore-eos"], {"ignore_eos": True}),
    "schema": (["--json-schema", json.dumps(SCHEMA)], {"schema": SCHEMA}),
    "regex": (["--regex", "[a-z ]{10,30}", "--temp", 1, "--seed", 2],
              {"grammar": augur.Grammar("regex", "[a-z ]{10,30}"), "temperature": 1.0, "seed": 2}),
}
PLANS = ["none", "ngram", "suffix", "recycling", "layerskip:n-max=3", "layerskip,ngram:policy=eagle2"]


@pytest.fixture(params=REQUESTS, scope="module")
def request_and_said(request, stories, said_by_program):
    flags, options = REQUESTS[request.param]
    return {**options, "max_tokens": 48}, said_by_program(stories, "-p", PROMPT, "-n", 48, *flags)


@pytest.mark.parametrize("plan", PLANS)
def test_generate_has_the_programs_ids_with_every_plan(engine, request_and_said, plan):
    options, said = request_and_said
    result = engine.generate(PROMPT, speculation=plan, **options)
    assert (list(result.ids), result.text, result.finish_reason) == (said["tokens"], said["text"], said["finish_reason"])
    assert result.prompt_tokens == said["prompt_tokens"]


def test_a_stream_has_them_too(engine, request_and_said):
    options, said = request_and_said
    with engine.stream(PROMPT, speculation="ngram", **options) as stream:
        tokens = list(stream)
    assert [token.id for token in tokens if token.id is not None] == said["tokens"]
    assert "".join(token.text for token in tokens) == said["text"]
    assert list(stream.result().ids) == said["tokens"]


def test_a_batch_has_the_ids_of_each_alone(engine):
    prompts = [f"{PROMPT} {number}" for number in range(40)]
    alone = [engine.generate(prompt, max_tokens=24, temperature=0.9, seed=5) for prompt in prompts]
    together = engine.generate(prompts, max_tokens=24, temperature=0.9, seed=5, speculation="ngram")
    assert [result.ids for result in together] == [result.ids for result in alone]
    assert len({result.ids for result in alone}) > 10


def test_ids_of_a_prompt_are_a_prompt(engine):
    ids = engine.tokenize(PROMPT)
    assert engine.generate(ids, max_tokens=16).ids == engine.generate(PROMPT, max_tokens=16).ids
    assert engine.detokenize(ids) == PROMPT
    assert engine.prompt_ids(PROMPT) == ids


def test_a_schema_may_be_a_pydantic_model(engine):
    pydantic = pytest.importorskip("pydantic")

    class Person(pydantic.BaseModel):
        name: str = pydantic.Field(max_length=12)
        age: int = pydantic.Field(ge=0, le=99)

    result = engine.generate("A person: ", schema=Person, max_tokens=120)
    assert result.text.lstrip().startswith("{")
    assert result.ids == engine.generate("A person: ", schema=Person.model_json_schema(), max_tokens=120).ids
    assert result.ids == engine.generate("A person: ", schema=json.dumps(Person.model_json_schema()), max_tokens=120).ids


def test_each_request_of_many_has_options_of_its_own(engine):
    requests = [(PROMPT, {"max_tokens": 8 + n, "temperature": 1.0, "seed": n}) for n in range(100)]
    results = list(engine.generate_each(iter(requests)))
    assert [len(result.ids) for result in results] == [8 + n for n in range(100)]
    assert results[7].ids == engine.generate(PROMPT, **requests[7][1]).ids


def test_a_conversation_is_rendered_as_the_program_does(chat_stories, said_by_program):
    said = said_by_program(chat_stories, "--chat", "--system", "Be kind.", "-p", "Hello", "-n", 24)
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    with augur.Engine(chat_stories) as engine:
        assert list(engine.generate(messages, max_tokens=24).ids) == said["tokens"]
        assert list(engine.chat(messages, max_tokens=24).ids) == said["tokens"]
        assert engine.generate([messages, messages], max_tokens=24)[1].ids == tuple(said["tokens"])
        assert engine.apply_chat_template("Hello").startswith("user: Hello")
        assert "Tools: " in engine.apply_chat_template("Hello", tools=[{"type": "function", "function": {"name": "f"}}])


def test_a_real_model_with_a_draft_head(smollm2, said_by_program):
    draft = ROOT / "models/smollm2-eagle3"
    said = said_by_program(smollm2, "--chat", "-p", "Why is the sky blue?", "-n", 48)
    with augur.Engine(smollm2, draft=draft) as engine:
        result = engine.chat("Why is the sky blue?", max_tokens=48, trace=True)
        assert list(result.ids) == said["tokens"]
        assert result.speculation.accepted_tokens > 0
        sampled = [engine.chat("Why?", max_tokens=32, temperature=1.0, seed=4, speculation=plan).ids for plan in ("none", "eagle3")]
    assert sampled[0] == sampled[1]

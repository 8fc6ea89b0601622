"""The thin faces say the same as the engine."""
import pytest

import augur
from augur.chat_completion import create_chat_completion
from augur.llm import LLM, SamplingParams
from augur.response_format import request_options
from augur.speculative_config import engine_arguments

MESSAGES = [{"role": "user", "content": "Tell me a story."}]


@pytest.fixture(scope="module")
def chat_engine(chat_stories):
    with augur.Engine(chat_stories) as engine:
        yield engine


def test_llm(stories, engine):
    llm = LLM(stories, speculative_config={"method": "ngram", "num_speculative_tokens": 4})
    params = SamplingParams(temperature=0.8, seed=7, max_tokens=24)
    outputs = llm.generate(["Once", {"prompt_token_ids": engine.tokenize("Twice")}], params)
    for prompt, output in zip(("Once", "Twice"), outputs):
        result = engine.generate(prompt, **params.options())
        assert (output.outputs[0].token_ids, output.outputs[0].text) == (result.ids, result.text)
        assert output.prompt_token_ids == engine.tokenize(prompt)
    each = llm.generate(["Once", "Once"], [SamplingParams(seed=1), SamplingParams(seed=2)])
    assert len(each[0].outputs[0].token_ids) == 16 and each[0].outputs != each[1].outputs
    with pytest.raises(ValueError):
        llm.generate(["Once"], [params, params])
    llm.engine.close()


def test_llm_chats(chat_stories, chat_engine):
    llm = LLM(chat_stories)
    params = SamplingParams(temperature=0, max_tokens=12)
    assert llm.chat(MESSAGES, params)[0].outputs[0].text == chat_engine.chat(MESSAGES, max_tokens=12).text
    assert len(llm.chat([MESSAGES, MESSAGES], params)) == 2
    llm.engine.close()


def test_chat_completions(chat_engine):
    result = chat_engine.chat(MESSAGES, max_tokens=24)
    whole = create_chat_completion(chat_engine, MESSAGES, max_tokens=24)
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": result.text}
    assert whole["choices"][0]["finish_reason"] == result.finish_reason
    assert whole["usage"]["completion_tokens"] == len(result.ids)
    chunks = list(create_chat_completion(chat_engine, MESSAGES, stream=True, max_tokens=24))
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == result.text
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant"}
    assert chunks[-1]["choices"][0]["finish_reason"] == result.finish_reason


def test_response_formats(chat_engine):
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}
    result = chat_engine.chat(MESSAGES, schema=schema, max_tokens=40)
    for form in ({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}, {"type": "json_object", "schema": schema}):
        answer = create_chat_completion(chat_engine, MESSAGES, response_format=form, max_tokens=40)
        assert answer["choices"][0]["message"]["content"] == result.text
    assert request_options({"type": "text"}) == request_options(None) == {}
    assert request_options({"type": "json_object"}) == {"grammar": augur.Grammar("json")}
    with pytest.raises(ValueError):
        request_options({"type": "yaml"})


@pytest.mark.parametrize("config, arguments", [
    ({"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 3}, {"spec": "ngram:n-max=5,ngram-max=3"}),
    ({"model": "draft", "num_speculative_tokens": 3}, {"spec": "draft:n-max=3", "draft": "draft"}),
    ({"method": "eagle3", "model": "head"}, {"spec": "eagle3", "draft": "head"}),
])
def test_speculative_config(config, arguments):
    assert engine_arguments(config) == arguments


@pytest.mark.parametrize("config", [{"method": "magic"}, {"method": "ngram", "temperature": 1}, {}])
def test_speculative_config_that_is_not_known(config):
    with pytest.raises(ValueError):
        engine_arguments(config)

"""The openai package, unchanged."""
import asyncio
import json

import openai
import pytest

from asking import PARAMETERS, QUESTION, Distance, measure, serve

MESSAGES = [{"role": "user", "content": QUESTION}]
TOOL = {"type": "function", "function": {"name": "measure", "description": "Measures.", "parameters": PARAMETERS}}


@pytest.fixture
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


def chat(client, **more):
    return client.chat.completions.create(
        **{"model": "stories", "messages": MESSAGES, "max_tokens": 30, "temperature": 0, **more})


def test_models(client):
    assert [model.id for model in client.models.list()] == ["stories"]
    assert client.models.retrieve("stories").object == "model"


def test_chat_whole_streamed_and_without_speculation(client):
    whole = chat(client).choices[0]
    assert whole.finish_reason == "length" and whole.message.content
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.message.content
    assert chunks[-1].usage.completion_tokens == 30
    plain = chat(client, extra_body={"speculative": {"type": "none"}}).choices[0]
    drafted = chat(client, extra_body={"speculative": {"type": "ngram", "n_max": 6}}).choices[0]
    assert plain.message.content == drafted.message.content == text
    with client.chat.completions.stream(model="stories", messages=MESSAGES, max_tokens=30, temperature=0) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "content.delta")
    assert deltas == stream.current_completion_snapshot.choices[0].message.content == text


def test_many_at_once_and_one_that_leaves(server):
    async def ask():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
            left = await chat(client, stream=True)
            async for chunk in left:
                break
            await left.close()
            return await asyncio.gather(*(chat(client, seed=1, n=2) for _ in range(8)))
    answers = asyncio.run(ask())
    texts = {tuple(choice.message.content for choice in answer.choices) for answer in answers}
    assert len(texts) == 1 and len(texts.pop()) == 2


def test_chat_logprobs(client):
    content = chat(client, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    assert len(content) == 30
    for token in content:
        assert token.logprob == max(top.logprob for top in token.top_logprobs) <= 0


def test_completions_with_echo(client):
    answer = client.completions.create(model="stories", prompt="Once upon", max_tokens=1, echo=True, logprobs=1)
    choice = answer.choices[0]
    assert choice.text.startswith("Once upon")
    assert len(choice.logprobs.tokens) == answer.usage.prompt_tokens + 1


def test_tools_over_three_turns(client):
    """The client's own objects go back as they came."""
    messages, read = list(MESSAGES), 0
    for turn in range(3):
        asked = {"messages": messages, "tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False,
                 "max_tokens": 100}
        answer = chat(client, **asked)
        assert answer.choices[0].finish_reason == "tool_calls"
        said = answer.choices[0].message
        with client.chat.completions.stream(model="stories", temperature=0, **asked) as stream:
            for _ in stream:
                pass
        streamed = stream.get_final_completion().choices[0].message
        assert streamed.tool_calls[0].function.arguments == said.tool_calls[0].function.arguments
        result = measure(json.loads(said.tool_calls[0].function.arguments))
        messages += [said, {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": result}]
        assert answer.usage.prompt_tokens > read
        read = answer.usage.prompt_tokens
    last = chat(client, messages=messages, tools=[TOOL], tool_choice="none")
    assert last.choices[0].finish_reason == "length" and last.choices[0].message.tool_calls is None


def test_tools_go_in_and_can_be_left_out(client):
    bare = chat(client).usage.prompt_tokens
    assert chat(client, tools=[TOOL]).usage.prompt_tokens > bare
    assert chat(client, tools=[TOOL], tool_choice="none").usage.prompt_tokens == bare


def test_structured_output(client):
    asked = {"model": "stories", "messages": MESSAGES, "max_tokens": 100, "temperature": 0}
    parsed = client.chat.completions.parse(**asked, response_format=Distance).choices[0].message.parsed
    assert isinstance(parsed, Distance)
    with client.chat.completions.stream(**asked, response_format=Distance) as stream:
        for _ in stream:
            pass
    assert stream.get_final_completion().choices[0].message.parsed == parsed
    chosen = chat(client, extra_body={"structured_outputs": {"choice": ["yes", "no"]}}).choices[0].message.content
    assert chosen in ("yes", "no")
    answer = client.responses.parse(model="stories", input=QUESTION, max_output_tokens=100, temperature=0,
                                    text_format=Distance)
    assert answer.output_parsed == parsed


def test_responses_whole_and_streamed(client):
    asked = {"model": "stories", "input": QUESTION, "max_output_tokens": 30, "temperature": 0, "store": False}
    whole = client.responses.create(**asked)
    assert whole.status == "incomplete" and whole.output_text == chat(client).choices[0].message.content
    events = list(client.responses.create(stream=True, **asked))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[0].type == "response.created"
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.output_text == whole.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    with client.responses.stream(**asked) as stream:
        for _ in stream:
            pass


def test_responses_tools_over_three_turns(client):
    items = [{"role": "user", "content": QUESTION}]
    tool = {"type": "function", "name": "measure", "description": "Measures.", "parameters": PARAMETERS, "strict": True}
    for turn in range(3):
        asked = {"model": "stories", "input": items, "tools": [tool], "tool_choice": "required", "temperature": 0,
                 "parallel_tool_calls": False, "max_output_tokens": 100}
        answer = client.responses.create(**asked)
        assert answer.status == "completed" and [item.type for item in answer.output] == ["function_call"]
        with client.responses.stream(**asked) as stream:
            for _ in stream:
                pass
        assert stream.get_final_response().output[0].arguments == answer.output[0].arguments
        result = measure(json.loads(answer.output[0].arguments))
        items += answer.output
        items.append({"type": "function_call_output", "call_id": answer.output[0].call_id, "output": result})
    last = client.responses.create(model="stories", input=items, tools=[tool], tool_choice="none", max_output_tokens=20)
    assert last.output_text


def test_what_is_refused_names_its_field(client):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, extra_body={"best_of": 2})
    assert refused.value.param == "best_of"
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, extra_body={"max_token": 2})
    assert refused.value.param == "max_token" and "max_tokens" in refused.value.message
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="stories", input="Hi", previous_response_id="resp_1")


def test_fields_that_nobody_knows_are_named(client):
    answer = client.chat.completions.with_raw_response.create(
        model="stories", messages=MESSAGES, max_tokens=1, extra_body={"enable_search": True})
    assert "enable_search" in answer.headers["x-augur-warning"] and answer.parse().choices


def test_errors_are_the_clients_own(client, model):
    with pytest.raises(openai.NotFoundError):
        chat(client, model="other")
    with pytest.raises(openai.InternalServerError) as unable:
        client.embeddings.create(model="stories", input="a")
    assert unable.value.status_code == 501
    with pytest.raises(openai.APITimeoutError):
        chat(client.with_options(timeout=0.001), n=16, max_tokens=400, extra_body={"ignore_eos": True})
    with serve(model, "--api-key", "sesame") as locked:
        with pytest.raises(openai.AuthenticationError):
            chat(openai.OpenAI(base_url=locked.url + "/v1", api_key="none", max_retries=0))
        chat(openai.OpenAI(base_url=locked.url + "/v1", api_key="sesame", max_retries=0))

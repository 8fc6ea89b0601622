"""The openai package, unchanged."""
import openai
import pytest

MESSAGES = [{"role": "user", "content": "Once upon a time"}]
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}


@pytest.fixture
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


def chat(client, **more):
    return client.chat.completions.create(
        model="stories", messages=MESSAGES, max_tokens=30, temperature=0, **more)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["stories"]


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


def test_tools_go_in_and_their_results(client):
    bare = chat(client).usage.prompt_tokens
    assert chat(client, tools=[TOOL]).usage.prompt_tokens > bare
    assert chat(client, tools=[TOOL], tool_choice="none").usage.prompt_tokens == bare
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = MESSAGES + [{"role": "assistant", "content": None, "tool_calls": [call]},
                           {"role": "tool", "tool_call_id": "abcdefghi", "content": "2"}]
    answer = client.chat.completions.create(model="stories", messages=messages, tools=[TOOL], max_tokens=5)
    assert answer.choices[0].finish_reason == "length"


def test_responses_whole_and_streamed(client):
    asked = {"model": "stories", "input": "Once upon a time", "max_output_tokens": 30, "temperature": 0,
             "store": False}
    whole = client.responses.create(**asked)
    assert whole.status == "incomplete" and whole.output_text == chat(client).choices[0].message.content
    events = list(client.responses.create(stream=True, **asked))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[0].type == "response.created"
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.output_text == whole.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    with client.responses.stream(**{key: asked[key] for key in asked}) as stream:
        for event in stream:
            pass


def test_what_is_refused_names_its_field(client):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, extra_body={"best_of": 2})
    assert refused.value.param == "best_of"
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="other", messages=MESSAGES)
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="stories", input="Hi", previous_response_id="resp_1")

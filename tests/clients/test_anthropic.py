"""The anthropic package, unchanged."""
import anthropic
import pytest

from asking import PARAMETERS, QUESTION, Distance, measure, serve

ASKED = {"model": "stories", "max_tokens": 30, "extra_body": {"temperature": 0},
         "messages": [{"role": "user", "content": QUESTION}]}
TOOL = {"name": "measure", "description": "Measures.", "input_schema": PARAMETERS}


@pytest.fixture
def client(server):
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["stories"]


def test_message_whole_and_streamed(client):
    whole = client.messages.create(**ASKED, system="Be kind.")
    assert whole.stop_reason == "max_tokens" and whole.usage.output_tokens == 30
    with client.messages.stream(**ASKED, system="Be kind.") as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    assert text == whole.content[0].text == last.content[0].text
    assert last.stop_reason == "max_tokens" and last.usage.output_tokens == 30


def test_count_tokens(client):
    counted = client.messages.count_tokens(model="stories", messages=ASKED["messages"], tools=[TOOL])
    usage = client.messages.create(**ASKED, tools=[TOOL]).usage
    assert counted.input_tokens == usage.input_tokens + usage.cache_read_input_tokens


def test_stop_sequence(client):
    text = client.messages.create(**ASKED).content[0].text
    stopped = client.messages.create(**ASKED, stop_sequences=[text[5:11]])
    assert stopped.stop_reason == "stop_sequence" and stopped.stop_sequence == text[5:11]
    assert stopped.content[0].text == text[:text.index(text[5:11])]


def test_tools_over_three_turns(client):
    """The client's own objects go back as they came."""
    messages = list(ASKED["messages"])
    for turn in range(3):
        asked = {**ASKED, "messages": messages, "max_tokens": 100, "tools": [TOOL],
                 "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
        answer = client.messages.create(**asked)
        assert answer.stop_reason == "tool_use" and [block.type for block in answer.content] == ["tool_use"]
        with client.messages.stream(**asked) as stream:
            parts = "".join(event.partial_json for event in stream if event.type == "input_json")
            streamed = stream.get_final_message()
        assert streamed.content[0].input == answer.content[0].input and parts
        messages += [{"role": "assistant", "content": answer.content},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": answer.content[0].id,
                                                   "content": measure(answer.content[0].input)}]}]
    last = client.messages.create(**{**ASKED, "messages": messages}, tools=[TOOL], tool_choice={"type": "none"})
    assert last.stop_reason == "max_tokens" and last.content[0].type == "text"


def test_structured_output(client):
    asked = {**ASKED, "max_tokens": 200}
    parsed = client.messages.parse(**asked, output_format=Distance)
    assert isinstance(parsed.parsed_output, Distance)
    with client.messages.stream(**asked, output_format=Distance) as stream:
        assert stream.get_final_message().parsed_output == parsed.parsed_output
    plain = client.messages.create(**asked, output_config={"format": {"type": "json_schema", "schema": PARAMETERS}})
    Distance.model_validate_json(plain.content[0].text)


def test_errors_are_anthropics(client, model):
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(**{**ASKED, "model": "other"})
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.create(**ASKED, thinking={"type": "enabled", "budget_tokens": "many"})
    assert refused.value.body["error"]["type"] == "invalid_request_error"
    assert "thinking" in refused.value.body["error"]["message"]
    with serve(model, "--api-key", "sesame") as locked:
        with pytest.raises(anthropic.AuthenticationError) as refused:
            anthropic.Anthropic(base_url=locked.url, api_key="none", max_retries=0).messages.create(**ASKED)
        assert refused.value.body["error"]["type"] == "authentication_error"
        anthropic.Anthropic(base_url=locked.url, api_key="sesame", max_retries=0).messages.create(**ASKED)

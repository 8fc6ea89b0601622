"""The anthropic package, unchanged."""
import anthropic
import pytest

ASKED = {"model": "stories", "max_tokens": 30, "extra_body": {"temperature": 0},
         "messages": [{"role": "user", "content": "Once upon a time"}]}
TOOL = {"name": "add", "description": "Adds.", "input_schema": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}


@pytest.fixture
def client(server):
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)


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


def test_tools_and_their_results(client):
    messages = ASKED["messages"] + [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "abcdefghi", "name": "add", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "abcdefghi", "content": "2"}]}]
    answer = client.messages.create(**{**ASKED, "messages": messages}, tools=[TOOL])
    assert answer.role == "assistant"


def test_errors_are_anthropics(client):
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(**{**ASKED, "model": "other"})
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.create(**ASKED, thinking={"type": "enabled", "budget_tokens": 1024})
    assert refused.value.body["error"]["type"] == "invalid_request_error"
    assert "thinking" in refused.value.body["error"]["message"]

"""LiteLLM, unchanged: as it is told of an OpenAI-like server, and a router that leaves out one that is gone."""
import litellm
import pytest

from asking import serve

MESSAGES = [{"role": "user", "content": "Once upon a time"}]
ASKED = {"messages": MESSAGES, "max_tokens": 30, "temperature": 0}


def of(server):
    return {"model": "openai/stories", "api_base": server.url + "/v1", "api_key": "none"}


def test_chat_whole_and_streamed(server):
    whole = litellm.completion(**of(server), **ASKED)
    assert whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 30
    chunks = list(litellm.completion(**of(server), **ASKED, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == whole.choices[0].message.content


def test_refusals_are_its_own_errors(server):
    with pytest.raises(litellm.BadRequestError):
        litellm.completion(**of(server), **{**ASKED, "temperature": -1})
    with pytest.raises(litellm.NotFoundError):
        litellm.completion(**{**of(server), "model": "openai/other"}, **ASKED)


def test_router_asks_the_other_replica(model):
    with serve(model) as first, serve(model) as second:
        # One failure takes a replica out: otherwise each retry is drawn anew, and may go where the last one failed.
        router = litellm.Router(num_retries=3, allowed_fails=0, cooldown_time=60, model_list=[
            {"model_name": "local", "litellm_params": of(replica)} for replica in (first, second)])
        before = router.completion(model="local", **ASKED).choices[0].message.content
        first.kill()
        for _ in range(4):
            assert router.completion(model="local", **ASKED).choices[0].message.content == before
        second.close()

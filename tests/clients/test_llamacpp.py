"""Clients of llama.cpp's server, unchanged: llamacpp-client, langchain-llama-cpp, and llama.cpp's own examples."""
import importlib.util
import sys
import urllib.parse

import langchain_core.messages as said
import langchain_llama_cpp
import llamacpp_client
import pytest
import requests

from asking import PARAMETERS, QUESTION, Distance, measure


@pytest.fixture
def client(server):
    address = urllib.parse.urlsplit(server.url)
    return llamacpp_client.LlamaCppClient([llamacpp_client.LlamaCppServerAddress(address.hostname, address.port)])


@pytest.fixture
def chat(server):
    return langchain_llama_cpp.ChatLlama(model="stories", base_url=server.url, max_tokens=100, temperature=0)


def example(llama_cpp, name):
    """A module of llama.cpp's examples/."""
    spec = importlib.util.spec_from_file_location(name, llama_cpp / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where pydantic looks up annotations
    spec.loader.exec_module(module)
    return module


def test_completion_whole_and_streamed(client):
    asked = {"temperature": 0, "n_predict": 30, "repeat_penalty": 1.0, "seed": 1}
    whole = client.new_completion(QUESTION, **asked)
    assert whole.content and whole.tokens_predicted == 30 and whole.stop_type == "limit" and not whole.truncated
    chunks = list(client.new_stream_completion(QUESTION, **asked))
    assert "".join(chunk.content for chunk in chunks) == whole.content
    assert [chunk.stop for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1].tokens_evaluated == whole.tokens_evaluated


def test_chat_beside_completion(client):
    answer = client.v1_chat_completions([{"role": "user", "content": QUESTION}], max_tokens=5)
    assert answer["choices"][0]["message"]["role"] == "assistant" and answer["usage"]["completion_tokens"] == 5


def test_refusals(client):
    with pytest.raises(requests.HTTPError) as refused:
        client.new_completion(QUESTION, temperature=-1)
    assert refused.value.response.status_code == 400
    assert "temperature" in client.completion(QUESTION, temperature=-1)["error"]["message"]


def test_langchain_whole_and_streamed(chat):
    whole = chat.invoke(QUESTION)
    assert whole.content and whole.usage_metadata["output_tokens"] == 100
    pieces = list(chat.stream(QUESTION))
    assert "".join(piece.content for piece in pieces) == whole.content


def test_langchain_tools_over_three_turns(chat):
    tool = {"type": "function", "function": {"name": "measure", "description": "Measures.", "parameters": PARAMETERS}}
    bound = chat.bind_tools([tool], tool_choice="required", parallel_tool_calls=False)
    messages = [said.HumanMessage(QUESTION)]
    for turn in range(3):
        answer = bound.invoke(messages)
        assert [call["name"] for call in answer.tool_calls] == ["measure"]
        messages += [answer, said.ToolMessage(measure(answer.tool_calls[0]["args"]),
                                              tool_call_id=answer.tool_calls[0]["id"])]
    assert chat.invoke(messages).content


def test_langchain_structured_output(chat):
    assert isinstance(chat.with_structured_output(Distance).invoke(QUESTION), Distance)


def test_langchain_errors_are_its_own(server, chat):
    other = langchain_llama_cpp.ChatLlama(model="other", base_url=server.url)
    with pytest.raises(langchain_llama_cpp.LlamaModelNotFoundError):
        other.invoke(QUESTION)
    with pytest.raises(langchain_llama_cpp.LlamaInvalidRequestError) as refused:
        chat.bind(grammar="root ::= (").invoke(QUESTION)
    assert "grammar" in str(refused.value)


def test_examples_of_schemas(llama_cpp, server):
    """examples/json_schema_pydantic_example.py"""
    create = example(llama_cpp, "json_schema_pydantic_example").create_completion
    asked = {"endpoint": server.url + "/v1/chat/completions", "model": "stories", "max_tokens": 100,
             "messages": [{"role": "user", "content": QUESTION}]}
    assert isinstance(create(response_model=Distance, **asked), Distance)
    with pytest.raises(Exception, match="max_tokens"):
        create(**{**asked, "max_tokens": -7})


def test_examples_of_grammars(llama_cpp, server):
    """examples/pydantic_models_to_grammar.py: a server of llama.cpp's reads what it writes."""
    make = example(llama_cpp, "pydantic_models_to_grammar")
    sys.modules["pydantic_models_to_grammar"] = make
    ask = example(llama_cpp, "pydantic_models_to_grammar_examples")
    for model in (ask.Calculator, ask.Book, ask.SendMessageToUser):
        grammar, _ = make.generate_gbnf_grammar_and_documentation(
            pydantic_model_list=[model], outer_object_name="function", outer_object_content="function_parameters",
            model_prefix="Function", fields_prefix="Parameters")
        answer = requests.post(server.url + "/completion", json={"prompt": QUESTION, "grammar": grammar, "n_predict": 64,
                                                                 "temperature": 0}, timeout=60)
        assert answer.status_code == 200 and f'"{model.__name__}"' in answer.json()["content"], answer.text

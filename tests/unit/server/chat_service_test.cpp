#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "grammar/compiler.h"
#include "server/anthropic/anthropic_answer.h"
#include "server/http/http_server.h"
#include "server/openai/openai_answer.h"
#include "server/responses/responses_answer.h"
#include "server/service.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTemplate =
    "{% if tools %}Tools: {{ tools | tojson }} <tool_call>{% endif %}"
    "{% for m in messages %}{{ m.role }}{% if m.tool_calls %} calls{% for c in m.tool_calls %} "
    "{{ c.function.name }} {{ c.function.arguments.a }}{% endfor %}{% endif %}: "
    "{% if m.reasoning_content is defined %}({{ m.reasoning_content }}){% endif %}{{ m.content }}\n"
    "{% endfor %}";

/// A server of the stories model with a chat template that knows tools.
class ChatServiceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<testing_support::TemporaryFolder>();
    for (const char* name : {"config.json", "tokenizer.model", "model.safetensors"}) {
      std::filesystem::copy_file(testing_support::stories_path() / name, folder_->path() / name);
    }
    std::ofstream(folder_->path() / "chat_template.jinja") << kTemplate;
    EngineOptions options = testing_support::stories_engine_options();
    options.model = folder_->path().string();
    engine_ = std::make_unique<Engine>(options);
  }
  static void TearDownTestSuite() {
    engine_.reset();
    folder_.reset();
  }
  ChatServiceTest() { service_.open(*engine_, {.parallel = 4}); }
  ~ChatServiceTest() override { service_.drain(); }

  httplib::Result post(const std::string& path, const json& body) {
    httplib::Client client("127.0.0.1", server_.port());
    client.set_bearer_token_auth("key");
    return client.Post(path, body.dump(), "application/json");
  }
  /// "STATUS message".
  std::string refusal(const std::string& path, const json& body) {
    const httplib::Result result = post(path, body);
    const json answer = json::parse(result->body);
    if (!answer.contains("error")) return std::to_string(result->status);
    return std::to_string(result->status) + " " + answer["error"]["message"].get<std::string>();
  }
  std::string prompt_of(const json& chat) {
    const json tokens = json::parse(post("/tokenize", chat)->body)["tokens"];
    return json::parse(post("/detokenize", {{"tokens", tokens}})->body)["content"];
  }

  inline static std::unique_ptr<testing_support::TemporaryFolder> folder_;
  inline static std::unique_ptr<Engine> engine_;
  Service service_{{.model = "stories", .api_keys = {"key"}, .speculation = {}}};
  HttpServer server_{{.port = 0}, service_};
};

const json kAdd = {{"type", "function"},
                   {"function", {{"name", "add"}, {"parameters", {{"type", "object"}}}}}};

TEST_F(ChatServiceTest, ToolsAndTheirCallsGoIntoThePrompt) {
  const json call = {
      {"id", "abc"}, {"type", "function"}, {"function", {{"name", "add"}, {"arguments", R"({"a": 5})"}}}};
  json chat = {{"messages",
                {{{"role", "user"}, {"content", "Add"}},
                 {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
                 {{"role", "tool"}, {"tool_call_id", "abc"}, {"content", "7"}}}},
               {"tools", {kAdd}}};
  const std::string prompt = prompt_of(chat);
  EXPECT_THAT(prompt, HasSubstr(R"(Tools: [{"type": "function", "function": {"name": "add", )"));
  EXPECT_THAT(prompt, HasSubstr("assistant calls add 5:"));
  EXPECT_THAT(prompt, HasSubstr("tool: 7"));
  chat["tool_choice"] = "none";
  EXPECT_THAT(prompt_of(chat), Not(HasSubstr("Tools")));
  chat["tool_choice"] = "auto";
  chat["max_tokens"] = 4;
  EXPECT_EQ(json::parse(post("/v1/chat/completions", chat)->body)["choices"][0]["finish_reason"], "length");
}

TEST_F(ChatServiceTest, ContentBesideToolCallsIsWhatItWas) {
  const auto prompt = [&](const json& content, bool there = true) {
    json call = {{"id", "abc"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}};
    json said = {{"role", "assistant"}, {"tool_calls", {call}}};
    if (there) said["content"] = content;
    return prompt_of({{"messages", {{{"role", "user"}, {"content", "q"}}, said}}, {"tools", {kAdd}}});
  };
  EXPECT_THAT(prompt(""), HasSubstr("assistant calls f : \n"));
  EXPECT_THAT(prompt("x"), HasSubstr("assistant calls f : x\n"));
  EXPECT_THAT(prompt(nullptr), HasSubstr("assistant calls f : None\n"));  // as jinja2 writes it
  EXPECT_THAT(prompt(nullptr, false), HasSubstr("assistant calls f : \n"));
}

TEST_F(ChatServiceTest, ThoughtsOfEarlierTurnsReachTheTemplate) {
  const json call = {{"id", "abc"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}};
  json chat = {
      {"messages",
       {{{"role", "user"}, {"content", "q"}},
        {{"role", "assistant"}, {"content", "x"}, {"reasoning_content", "Hm."}, {"tool_calls", {call}}},
        {{"role", "tool"}, {"tool_call_id", "abc"}, {"content", "7"}}}}};
  EXPECT_THAT(prompt_of(chat), HasSubstr("assistant calls f : (Hm.)x\n"));
  chat["messages"][1]["reasoning_content"] = nullptr;
  EXPECT_THAT(prompt_of(chat), HasSubstr("assistant calls f : x\n"));
  chat["messages"][0]["reasoning_content"] = "I wonder";
  EXPECT_THAT(refusal("/v1/chat/completions", chat),
              HasSubstr("400 'messages[0].reasoning_content': goes with role"));
  chat = {{"messages",
           {{{"role", "user"}, {"content", "q"}},
            {{"role", "assistant"}, {"content", "x"}, {"reasoning_content", "Hm."}}}}};
  EXPECT_THAT(refusal("/v1/chat/completions", chat), HasSubstr("so it cannot be continued"));

  const auto tokens = [&](const json& blocks) {
    const json messages = {{{"role", "user"}, {"content", "q"}},
                           {{"role", "assistant"}, {"content", blocks}},
                           {{"role", "user"}, {"content", "And?"}}};
    const json answer = json::parse(post("/v1/messages/count_tokens", {{"messages", messages}})->body);
    return answer["input_tokens"].get<int>();
  };
  const json text = {{"type", "text"}, {"text", "x"}};
  const json thought = {{"type", "thinking"}, {"thinking", "Hm."}, {"signature", "s"}};
  EXPECT_GT(tokens(json::array({thought, text})), tokens(json::array({text})));
}

TEST_F(ChatServiceTest, ToolsAreWhatTheyWereGivenAs) {
  const auto tools = [&](const std::string& function) {
    httplib::Client client("127.0.0.1", server_.port());
    client.set_bearer_token_auth("key");
    const auto result = client.Post("/apply-template",
                                    R"({"messages": [{"role": "user", "content": "q"}], "tools": [{"type": )"
                                    R"("function", "function": )" +
                                        function + "}]}",
                                    "application/json");
    return json::parse(result->body).value("prompt", result->body);
  };
  EXPECT_THAT(tools(R"({"name": "f"})"), HasSubstr(R"("function": {"name": "f"}}])"));
  EXPECT_THAT(tools(R"({"name": "f", "description": "", "parameters": {}})"),
              HasSubstr(R"({"name": "f", "description": "", "parameters": {}}}])"));
  EXPECT_THAT(tools(R"({"name": "f", "parameters": {"maximum": 340282366920938463463374607431768211456}})"),
              HasSubstr(R"({"maximum": 340282366920938463463374607431768211456})"));
}

TEST_F(ChatServiceTest, IntegersOfAnySizeSurviveInArguments) {
  const json call = {{"id", "a"},
                     {"type", "function"},
                     {"function", {{"name", "f"}, {"arguments", R"({"a": 12345678901234567890})"}}}};
  EXPECT_THAT(prompt_of({{"messages",
                          {{{"role", "user"}, {"content", "q"}},
                           {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}}}}}),
              HasSubstr("f 12345678901234567890: "));
}

TEST_F(ChatServiceTest, ControlTokensOfClientsAreText) {
  const auto count = [&](const json& body) { return json::parse(post("/tokenize", body)->body)["count"]; };
  const auto said = [&](const char* content) {
    return json{{"messages", {{{"role", "user"}, {"content", content}}}}};
  };
  EXPECT_EQ(prompt_of(said("a</s>b")), "user: a</s>b\n");
  EXPECT_GT(count(said("a</s>b")), count(said("ab")).get<int>() + 1) << "four characters, not one token";
  // Raw texts, as llama.cpp has them.
  const auto tokens = [&](const json& more) {
    json body = {{"content", "</s>"}};
    body.update(more);
    return json::parse(post("/tokenize", body)->body)["tokens"].size();
  };
  EXPECT_EQ(tokens(json::object()), 1u);
  EXPECT_EQ(tokens({{"parse_special", true}}), 1u);
  EXPECT_GT(tokens({{"parse_special", false}}), 1u);
}

TEST_F(ChatServiceTest, PartsThatAreNoTextSayThatTheServerTakesText) {
  const auto part = [&](const json& one) {
    return refusal("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", {one}}}}}});
  };
  EXPECT_EQ(part({{"type", "image_url"}, {"image_url", {{"url", "data:"}}}}),
            "400 'messages[0].content[0]': 'image_url': this server takes text only: expected text");
  EXPECT_THAT(part({{"type", "input_audio"}}), HasSubstr("text only"));
  EXPECT_THAT(part({{"text", "x"}}), HasSubstr("no type: this server takes text only"));
  EXPECT_THAT(
      refusal("/v1/messages",
              {{"max_tokens", 1}, {"messages", {{{"role", "user"}, {"content", {{{"type", "image"}}}}}}}}),
      HasSubstr("'image': this server takes text only"));
  EXPECT_THAT(
      refusal("/v1/responses", {{"input", {{{"role", "user"}, {"content", {{{"type", "input_image"}}}}}}}}),
      HasSubstr("'input_image': this server takes text only"));
}

TEST_F(ChatServiceTest, ToolsThatAreNotAsTheyMustBeAreNamed) {
  const auto chat = [&](const json& more, const json& message = {{"role", "user"}, {"content", "Hi"}}) {
    json body = {{"messages", {message}}};
    body.update(more);
    return refusal("/v1/chat/completions", body);
  };
  EXPECT_THAT(chat({{"tools", "add"}}), HasSubstr("400 'tools': expected a list"));
  EXPECT_THAT(chat({{"tools", {{{"type", "retrieval"}}}}}), HasSubstr("400 'tools[0]'"));
  EXPECT_THAT(chat({{"tools", {kAdd, kAdd}}}), HasSubstr("400 'tools': 'add' is there twice"));
  EXPECT_THAT(chat({{"tools", {{{"type", "function"}, {"function", {{"name", "a b"}}}}}}}),
              HasSubstr("400 'tools[0].function.name'"));
  EXPECT_THAT(chat({{"tools", {kAdd}}, {"tool_choice", "any"}}), HasSubstr("400 'tool_choice'"));
  EXPECT_THAT(chat({{"tool_choice", "auto"}}), HasSubstr("400 'tool_choice': goes with \"tools\""));
  EXPECT_THAT(chat({{"parallel_tool_calls", 1}}), HasSubstr("400 'parallel_tool_calls'"));
  EXPECT_THAT(chat(json::object(), {{"role", "tool"}, {"content", "7"}}),
              HasSubstr("400 'messages[0].tool_call_id'"));
  EXPECT_THAT(chat(json::object(), {{"role", "user"}, {"content", nullptr}}),
              HasSubstr("400 'messages[0].content'"));
  EXPECT_THAT(chat(json::object(), {{"role", "assistant"}, {"tool_calls", {1}}}),
              HasSubstr("400 'messages[0].tool_calls[0]'"));
}

/// What an answer sends.
struct Recorder final : Exchange {
  void add_header(std::string, std::string) override {}
  void respond(int code, std::string text, HttpHeaders) override {
    status = code;
    body = json::parse(text);
  }
  void begin_stream(HttpHeaders) override {}
  void send_event(std::string data, std::string_view name) override {
    names.emplace_back(name);
    if (data != "[DONE]") events.push_back(json::parse(data));
  }
  void end_stream() override { ended = true; }
  void fail(const Problem& problem) override { status = problem.status(); }
  void fail(const Problem&, std::string data, std::string_view name) override {
    send_event(std::move(data), name);
    end_stream();
  }
  void when_closed(std::function<void()>) override {}
  bool client_gone() const override { return false; }

  int status = 0;
  json body;
  std::vector<json> events;
  std::vector<std::string> names;
  bool ended = false;
};

constexpr std::string_view kCalls =
    "Well. <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call>"
    "<tool_call>{\"name\": \"add\", \"arguments\": {\"b\": 2}}</tool_call>";

/// Gives the text to an answer, in pieces of three bytes where it is streamed.
void write(GenerationAnswer& answer, std::string_view text, bool stream) {
  const SubmitOptions to = answer.choice(0, {});
  for (std::size_t at = 0; stream && at < text.size(); at += 3) {
    to.on_token({.token = 1, .text = text.substr(at, 3)});
  }
  Result result;
  result.text = text;
  result.finish_reason = FinishReason::Stop;
  to.on_result(result);
}

class AnswerTest : public testing_support::StoriesEngineTest {
 protected:
  const ServiceOptions options_{.model = "m", .api_keys = {}, .speculation = {}};
  Session session_{*engine_};
  ServerMetrics metrics_{"m"};
  Slots slots_;
  CacheUse cache_use_;
  const KeyRing keys_{{}};
  const SessionOptions session_options_{};
  const Served served_{.options = options_,
                       .engine = *engine_,
                       .session = session_,
                       .session_options = session_options_,
                       .metrics = metrics_,
                       .slots = slots_,
                       .cache_use = cache_use_,
                       .keys = keys_,
                       .caller = {},
                       .record = std::make_shared<RequestRecord>()};
  const ToolParser parser_{ToolFormat::Hermes, {{"add", ArgumentTypes()}}, true};
};

TEST_F(AnswerTest, CallsAreToolCalls) {
  OpenAiRequest request;
  request.requests.resize(1);
  const auto whole = std::make_shared<Recorder>();
  write(*std::make_shared<OpenAiAnswer>(OpenAiEndpoint::ChatCompletions, request, std::vector<EchoedPrompt>(),
                                        parser_, served_, whole),
        kCalls, false);
  const json choice = whole->body["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "Well.");
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 2U);
  EXPECT_EQ(choice["message"]["tool_calls"][1]["function"]["arguments"], R"({"b": 2})");
  EXPECT_EQ(choice["message"]["tool_calls"][1]["id"].get<std::string>().size(), 9U);

  request.stream = true;
  const auto streamed = std::make_shared<Recorder>();
  write(*std::make_shared<OpenAiAnswer>(OpenAiEndpoint::ChatCompletions, request, std::vector<EchoedPrompt>(),
                                        parser_, served_, streamed),
        kCalls, true);
  std::string content;
  std::string arguments[2];
  std::string names;
  for (const json& event : streamed->events) {
    const json delta = event["choices"][0]["delta"];
    if (delta.contains("content") && delta["content"].is_string()) content += delta["content"];
    for (const json& call : delta.value("tool_calls", json::array())) {
      names += call["function"].value("name", "");
      arguments[call["index"].get<int>()] += call["function"]["arguments"];
    }
  }
  EXPECT_EQ(content, "Well.");
  EXPECT_EQ(names, "addadd");
  EXPECT_EQ(arguments[0], R"({"a": 1})");
  EXPECT_EQ(arguments[1], R"({"b": 2})");
  EXPECT_EQ(streamed->events.back()["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_TRUE(streamed->ended);
}

TEST_F(AnswerTest, ThoughtsAreReasoning) {
  const std::string text =
      "<|channel|>analysis<|message|>One and two.<|end|><|start|>assistant"
      "<|channel|>commentary<|message|>I add.<|end|><|start|>assistant"
      "<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1}<|call|>";
  const AnswerParser parser(ChannelReader({{"add", ArgumentTypes()}}, {}), std::nullopt);
  OpenAiRequest request;
  request.requests.resize(1);
  const auto chat = [&](bool stream) {
    request.stream = stream;
    const auto recorder = std::make_shared<Recorder>();
    write(*std::make_shared<OpenAiAnswer>(OpenAiEndpoint::ChatCompletions, request,
                                          std::vector<EchoedPrompt>(), parser, served_, recorder),
          text, stream);
    return recorder;
  };
  const json message = chat(false)->body["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "One and two.");
  EXPECT_EQ(message["content"], "I add.");
  EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], R"({"a": 1})");
  std::map<std::string, std::string> joined;
  const auto chunks = chat(true);
  for (const json& event : chunks->events) {
    const json delta = event["choices"][0]["delta"];
    for (const char* key : {"reasoning_content", "content"})
      if (delta.contains(key) && delta[key].is_string()) joined[key] += delta[key];
  }
  EXPECT_EQ(joined["reasoning_content"], "One and two.");
  EXPECT_EQ(joined["content"], "I add.");

  const auto messages = [&](bool stream) {
    const auto recorder = std::make_shared<Recorder>();
    write(*std::make_shared<AnthropicAnswer>(served_, stream, "m", 7, parser, recorder), text, stream);
    return recorder;
  };
  const json blocks = messages(false)->body["content"];
  EXPECT_EQ(blocks[0], json::parse(R"({"type": "thinking", "thinking": "One and two.", "signature": ""})"));
  EXPECT_EQ(blocks[1]["text"], "I add.");
  EXPECT_EQ(blocks[2]["input"]["a"], 1);
  std::string kinds;
  std::string thought;
  const auto told = messages(true);
  for (const json& event : told->events) {
    if (event["type"] == "content_block_start")
      kinds += event["content_block"]["type"].get<std::string>() + " ";
    if (event["type"] == "content_block_delta" && event["delta"]["type"] == "thinking_delta")
      thought += event["delta"]["thinking"];
  }
  EXPECT_EQ(kinds, "thinking text tool_use ");
  EXPECT_EQ(thought, "One and two.");

  ResponsesRequest asked;
  asked.echo = json::object();
  const auto responses = [&](bool stream) {
    asked.stream = stream;
    const auto recorder = std::make_shared<Recorder>();
    write(*std::make_shared<ResponsesAnswer>(served_, asked, "m", parser, recorder), text, stream);
    return recorder;
  };
  const auto check = [](const json& output) {
    ASSERT_EQ(output.size(), 3U) << output;
    EXPECT_EQ(output[0]["type"], "reasoning");
    EXPECT_EQ(output[0]["content"][0], json::parse(R"({"type": "reasoning_text", "text": "One and two."})"));
    EXPECT_EQ(output[1]["content"][0]["text"], "I add.");
    EXPECT_EQ(output[2]["arguments"], R"({"a": 1})");
  };
  check(responses(false)->body["output"]);
  const auto stream = responses(true);
  check(stream->events.back()["response"]["output"]);
  std::string deltas;
  for (const json& event : stream->events)
    if (event["type"] == "response.reasoning_text.delta") deltas += event["delta"];
  EXPECT_EQ(deltas, "One and two.");
}

TEST_F(AnswerTest, CallsAreToolUseBlocks) {
  const auto whole = std::make_shared<Recorder>();
  write(*std::make_shared<AnthropicAnswer>(served_, false, "m", 7, parser_, whole), kCalls, false);
  EXPECT_EQ(whole->body["stop_reason"], "tool_use");
  ASSERT_EQ(whole->body["content"].size(), 3U);
  EXPECT_EQ(whole->body["content"][0], (json{{"type", "text"}, {"text", "Well."}}));
  EXPECT_EQ(whole->body["content"][2]["input"], (json{{"b", 2}}));

  const auto streamed = std::make_shared<Recorder>();
  write(*std::make_shared<AnthropicAnswer>(served_, true, "m", 7, parser_, streamed), kCalls, true);
  std::string text;
  std::string inputs[3];
  std::string order;
  for (std::size_t i = 0; i < streamed->events.size(); ++i) {
    const json& event = streamed->events[i];
    EXPECT_EQ(event["type"], streamed->names[i]);
    if (event["type"] != "content_block_delta") {
      order += event["type"].get<std::string>() + " ";
    } else if (event["index"] == 0) {
      text += event["delta"]["text"];
    } else {
      inputs[event["index"].get<std::size_t>()] += event["delta"]["partial_json"];
    }
  }
  EXPECT_EQ(
      order,
      "message_start ping content_block_start content_block_stop content_block_start content_block_stop "
      "content_block_start content_block_stop message_delta message_stop ");
  EXPECT_EQ(text, "Well.");
  EXPECT_EQ(inputs[1], R"({"a": 1})");
  EXPECT_EQ(inputs[2], R"({"b": 2})");
  const json& last = streamed->events[streamed->events.size() - 2];
  EXPECT_EQ(last["delta"]["stop_reason"], "tool_use");
  EXPECT_TRUE(streamed->ended);
}

TEST_F(ChatServiceTest, MessagesAreAnthropics) {
  json body = {
      {"model", "stories"},
      {"max_tokens", 40},
      {"temperature", 0},
      {"system", {{{"type", "text"}, {"text", "Be kind."}, {"cache_control", {{"type", "ephemeral"}}}}}},
      {"messages", {{{"role", "user"}, {"content", "Once upon a time"}}}}};
  const json whole = json::parse(post("/v1/messages", body)->body);
  EXPECT_EQ(whole["type"], "message");
  EXPECT_EQ(whole["stop_reason"], "max_tokens");
  EXPECT_EQ(whole["usage"]["output_tokens"], 40);
  const std::string text = whole["content"][0]["text"];
  const json chat = {
      {"messages",
       {{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", "Once upon a time"}}}},
      {"max_tokens", 40},
      {"temperature", 0}};
  const json same = json::parse(post("/v1/chat/completions", chat)->body);
  EXPECT_EQ(text, same["choices"][0]["message"]["content"]);

  json count = body;
  for (const char* key : {"max_tokens", "temperature"}) count.erase(key);
  EXPECT_EQ(json::parse(post("/v1/messages/count_tokens", count)->body)["input_tokens"],
            same["usage"]["prompt_tokens"]);

  body["stop_sequences"] = {"nowhere to be found", text.substr(5, 6)};
  const json stopped = json::parse(post("/v1/messages", body)->body);
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], text.substr(5, 6));
  EXPECT_EQ(stopped["content"][0]["text"], text.substr(0, text.find(text.substr(5, 6))));

  body.erase("stop_sequences");
  body["stream"] = true;
  const std::string stream = post("/v1/messages", body)->body;
  EXPECT_EQ(stream.substr(0, 28), "event: message_start\ndata: {");
  std::string joined;
  for (std::size_t at = 0; (at = stream.find("data: ", at)) != std::string::npos; at += 6) {
    const json event = json::parse(stream.substr(at + 6, stream.find('\n', at) - at - 6));
    if (event["type"] == "content_block_delta") joined += event["delta"]["text"];
  }
  EXPECT_EQ(joined, text);
}

TEST_F(ChatServiceTest, MessagesThatAreNotAsTheyMustBeAreNamed) {
  const auto message = [&](const json& more) {
    json body = {{"max_tokens", 4}, {"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
    body.update(more);
    return refusal("/v1/messages", body);
  };
  const auto content = [&](const char* role, const json& block) {
    return message({{"messages", {{{"role", role}, {"content", {block}}}}}});
  };
  EXPECT_THAT(message({{"max_tokens", nullptr}}), HasSubstr("400 'max_tokens'"));
  EXPECT_THAT(message({{"container", "x"}}), HasSubstr("400 'container'"));
  EXPECT_THAT(message({{"thinking", {{"type", "on"}}}}), HasSubstr("400 'thinking.type'"));
  EXPECT_THAT(message({{"thinking", {{"type", "disabled"}, {"budget_tokens", 9}}}}),
              HasSubstr("400 'thinking.budget_tokens'"));
  EXPECT_THAT(message({{"output_config", {{"effort", "none"}}}}), HasSubstr("400 'output_config.effort'"));
  EXPECT_THAT(message({{"output_config", {{"format", {{"type", "json_schema"}}}}}}),
              HasSubstr("400 'output_config.format.schema'"));
  EXPECT_THAT(message({{"system", 3}}), HasSubstr("400 'system'"));
  EXPECT_THAT(message({{"stop_sequences", {""}}}), HasSubstr("400 'stop_sequences[0]'"));
  EXPECT_THAT(message({{"stop", {"x"}}}), HasSubstr("400 'stop'"));
  EXPECT_THAT(message({{"tool_choice", {{"type", "auto"}}}}), HasSubstr("400 'tool_choice'"));
  EXPECT_THAT(message({{"tools", {{{"name", "f"}}}}}), HasSubstr("400 'tools[0].input_schema'"));
  EXPECT_THAT(message({{"messages", {{{"role", "assistant"}, {"content", "I"}}}}}),
              HasSubstr("400 'messages'"));
  EXPECT_THAT(content("user", {{"type", "image"}}), HasSubstr("400 'messages[0].content[0].type'"));
  EXPECT_THAT(content("user", {{"type", "tool_use"}}), HasSubstr("400 'messages[0].content[0].type'"));
  EXPECT_THAT(content("user", {{"type", "text"}}), HasSubstr("400 'messages[0].content[0].text'"));
  EXPECT_THAT(content("assistant", {{"type", "tool_use"}, {"id", "a"}, {"name", "f"}}),
              HasSubstr("400 'messages[0].content[0].input'"));
  const json error = json::parse(post("/v1/messages", json::object())->body);
  EXPECT_EQ(error["type"], "error");
  EXPECT_EQ(error["error"]["type"], "invalid_request_error");
}

TEST_F(AnswerTest, CallsAreItems) {
  ResponsesRequest request;
  request.echo = {{"metadata", {{"a", "b"}}}};
  const auto whole = std::make_shared<Recorder>();
  write(*std::make_shared<ResponsesAnswer>(served_, request, "m", parser_, whole), kCalls, false);
  EXPECT_EQ(whole->body["status"], "completed");
  EXPECT_EQ(whole->body["metadata"]["a"], "b");
  ASSERT_EQ(whole->body["output"].size(), 3U);
  EXPECT_EQ(whole->body["output"][0]["content"][0]["text"], "Well.");
  EXPECT_EQ(whole->body["output"][2]["arguments"], R"({"b": 2})");

  request.stream = true;
  const auto streamed = std::make_shared<Recorder>();
  write(*std::make_shared<ResponsesAnswer>(served_, request, "m", parser_, streamed), kCalls, true);
  std::string joined[3];
  int number = 0;
  for (const json& event : streamed->events) {
    EXPECT_EQ(event["sequence_number"], number);
    EXPECT_EQ(event["type"], streamed->names[static_cast<std::size_t>(number++)]);
    if (event.contains("delta")) joined[event["output_index"].get<std::size_t>()] += event["delta"];
  }
  EXPECT_EQ(joined[0], "Well.");
  EXPECT_EQ(joined[1], R"({"a": 1})");
  EXPECT_EQ(joined[2], R"({"b": 2})");
  EXPECT_EQ(streamed->names.front(), "response.created");
  EXPECT_EQ(streamed->names.back(), "response.completed");
  json last = streamed->events.back()["response"]["output"];
  ASSERT_EQ(last.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const char* random : {"id", "call_id"}) {
      last[i].erase(random);
      whole->body["output"][i].erase(random);
    }
  }
  EXPECT_EQ(last, whole->body["output"]) << "a stream's end holds what came";
}

TEST_F(ChatServiceTest, ResponsesAreOpenAIs) {
  json body = {{"model", "stories"},         {"max_output_tokens", 40},     {"temperature", 0},
               {"instructions", "Be kind."}, {"input", "Once upon a time"}, {"store", false}};
  const json whole = json::parse(post("/v1/responses", body)->body);
  EXPECT_EQ(whole["status"], "incomplete");
  EXPECT_EQ(whole["incomplete_details"]["reason"], "max_output_tokens");
  const json chat = {
      {"messages",
       {{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", "Once upon a time"}}}},
      {"max_tokens", 40},
      {"temperature", 0}};
  const json same = json::parse(post("/v1/chat/completions", chat)->body);
  const json text = same["choices"][0]["message"]["content"];
  EXPECT_EQ(whole["output"][0]["content"][0]["text"], text);
  EXPECT_EQ(whole["usage"]["input_tokens"], same["usage"]["prompt_tokens"]);

  body.erase("instructions");
  body["input"] = {{{"role", "developer"}, {"content", "Be kind."}},
                   {{"type", "message"},
                    {"role", "user"},
                    {"content", {{{"type", "input_text"}, {"text", "Once upon a time"}}}}}};
  EXPECT_EQ(json::parse(post("/v1/responses", body)->body)["output"][0]["content"][0]["text"], text);
}

TEST_F(ChatServiceTest, StreamsOfResponsesTellTimingsAndProgress) {
  json body = {{"input", "Once upon a time"}, {"max_output_tokens", 3}, {"stream", true}};
  const auto told = [&](const char* key) {
    const std::string stream = post("/v1/responses", body)->body;
    std::vector<std::string> events;
    for (std::size_t at = 0; (at = stream.find("data: ", at)) != std::string::npos; at += 6) {
      const json event = json::parse(stream.substr(at + 6, stream.find('\n', at) - at - 6));
      if (event.contains(key)) events.push_back(event["type"]);
    }
    return events;
  };
  EXPECT_THAT(told("timings"), testing::IsEmpty());
  EXPECT_THAT(told("prompt_progress"), testing::IsEmpty());
  body["timings_per_token"] = true;
  body["return_progress"] = true;
  const std::vector<std::string> timings = told("timings");
  EXPECT_THAT(timings, testing::Contains("response.output_text.delta"));
  EXPECT_EQ(timings.back(), "response.incomplete");
  const std::vector<std::string> progress = told("prompt_progress");
  EXPECT_THAT(progress, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(progress, testing::Each("response.in_progress"));
}

TEST_F(ChatServiceTest, ResponsesThatCannotBeAreNamed) {
  const auto response = [&](const json& more) {
    json body = {{"input", "Hi"}, {"max_output_tokens", 4}};
    body.update(more);
    return refusal("/v1/responses", body);
  };
  EXPECT_THAT(response({{"input", nullptr}}), HasSubstr("400 'input'"));
  EXPECT_THAT(response({{"previous_response_id", "resp_1"}}), HasSubstr("stores nothing"));
  EXPECT_THAT(response({{"truncation", "auto"}}), HasSubstr("400 'truncation'"));
  EXPECT_THAT(response({{"reasoning", {{"effort", "little"}}}}), HasSubstr("400 'reasoning.effort'"));
  EXPECT_THAT(response({{"text", {{"verbosity", "low"}}}}), HasSubstr("400 'text.verbosity'"));
  EXPECT_THAT(response({{"tools", {{{"type", "web_search"}}}}}), HasSubstr("400 'tools[0]'"));
  EXPECT_THAT(response({{"input", {{{"type", "magic"}}}}}), HasSubstr("400 'input[0].type'"));
  EXPECT_THAT(response({{"input", {{{"type", "reasoning"}, {"content", {{{"type", "x"}}}}}}}}),
              HasSubstr("400 'input[0].content[0].type'"));
  EXPECT_THAT(response({{"input", {{{"role", "user"}, {"content", 3}}}}}),
              HasSubstr("400 'input[0].content'"));
}

/// Whatever dialect a schema comes in, streamed or not.
TEST_F(ChatServiceTest, WhatASchemaPassesOverIsNamed) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  const json schema = {{"type", "object"},
                       {"properties", {{"a", {{"type", "boolean"}, {"format", "co\nlour"}}}}},
                       {"required", {"a"}},
                       {"additionalProperties", false},
                       {"colour", 1}};
  const json messages = {{{"role", "user"}, {"content", "Hi"}}};
  const json named = {{"name", "n"}, {"schema", schema}};
  const json function = {{"name", "f"}, {"parameters", schema}};
  const std::vector<std::pair<std::string, json>> requests = {
      {"/v1/completions",
       {{"prompt", "Hi"}, {"response_format", {{"type", "json_schema"}, {"json_schema", named}}}}},
      {"/v1/completions", {{"prompt", "Hi"}, {"guided_json", schema}}},
      {"/completion", {{"prompt", "Hi"}, {"json_schema", schema}}},
      {"/v1/chat/completions",
       {{"messages", messages}, {"response_format", {{"type", "json_schema"}, {"json_schema", named}}}}},
      {"/v1/chat/completions",
       {{"messages", messages},
        {"tools", {{{"type", "function"}, {"function", function}}}},
        {"tool_choice", "required"}}},
      {"/v1/responses",
       {{"input", "Hi"},
        {"text", {{"format", {{"type", "json_schema"}, {"name", "n"}, {"schema", schema}}}}}}},
      {"/v1/messages",
       {{"messages", messages},
        {"tools", {{{"name", "f"}, {"input_schema", schema}}}},
        {"tool_choice", {{"type", "any"}}}}},
  };
  for (const auto& [path, request] : requests) {
    for (const bool stream : {false, true}) {
      json body = request;
      body["stream"] = stream;
      body[path == "/completion"     ? "n_predict"
           : path == "/v1/responses" ? "max_output_tokens"
                                     : "max_tokens"] = 16;
      const httplib::Result answer = post(path, body);
      ASSERT_EQ(answer->status, 200) << path << answer->body;
      const std::string warning = answer->get_header_value("X-Augur-Warning");
      EXPECT_THAT(warning, HasSubstr("schema: ")) << path << body;
      EXPECT_THAT(warning, HasSubstr("#/colour is not a keyword")) << path << body;
      EXPECT_THAT(warning, HasSubstr("#/properties/a/format 'co?lour' is not known")) << path << body;
    }
  }
}

TEST_F(ChatServiceTest, AnthropicsKeyHeaderOpens) {
  httplib::Client client("127.0.0.1", server_.port());
  EXPECT_EQ(client.Get("/v1/models", {{"x-api-key", "key"}, {"Authorization", "none"}})->status, 200);
  EXPECT_EQ(client.Get("/v1/models", {{"Authorization", "bearer key"}})->status, 200);
  EXPECT_EQ(client.Get("/v1/models", {{"x-api-key", "other"}, {"Authorization", "none"}})->status, 401);
}

}  // namespace
}  // namespace augur

#include "server/hostile/catalogue.h"
#include "server/hostile/kinds/small_requests.h"

namespace augur::hostile {

std::vector<Case> sizes() {
  const std::string long_word(20'000, 'x');
  std::string fields;
  for (int i = 0; i < 200; ++i) fields += "X-" + std::to_string(i) + ": 1\r\n";
  std::string tiny;  // chunks of one byte
  for (const char c : kBody) tiny += std::string("1\r\n") + c + "\r\n";
  std::string extended;  // and more beside them than in them
  for (int i = 0; i < 50'000; ++i) extended += "1;" + std::string(40, 'a') + "\r\nx\r\n";
  return {
      {"a long field", kGet + "X: " + long_word + "\r\n\r\n", {431}},
      {"a long name", kGet + long_word + ": x\r\n\r\n", {431}},
      {"a long target", "GET /" + long_word + " HTTP/1.1\r\nHost: localhost\r\n\r\n", {431}},
      {"a long target that fits",
       "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
       {404}},
      {"many fields", kGet + fields + "\r\n", {431}},
      {"a header without end", kGet + "X: " + std::string(300'000, 'x'), {431}},
      {"a body that is told to be long", kPost + "Content-Length: 1048577\r\n\r\n", {413}},
      {"a chunk that is too long", kChunked + "100001\r\n" + std::string(100'000, 'x'), {413}},
      {"chunks that are too long together",
       kChunked + "fffff\r\n" + std::string(0xfffff, ' ') + "\r\n2\r\n  \r\n0\r\n\r\n",
       {413}},
      {"a chunk extension without end", kChunked + "f;" + std::string(300'000, 'x'), {400, 431}},
      {"trailers without end", kChunked + "0\r\nX: " + std::string(300'000, 'x'), {400, 431}},
      {"chunks of one byte", kChunked + tiny + "0\r\n\r\n", {200}},
      {"more beside the body than in it", kChunked + extended + "0\r\n\r\n", {431}},
      {"a size with many zeros",
       kChunked + std::string(100'000, '0') + "f\r\n" + kBody + "\r\n0\r\n\r\n",
       {200, 400, 431}},
      {"long stop strings for many choices",
       post("/v1/completions", R"({"prompt": "a", "n": 16, "stop": [")" + std::string(8000, 's') + R"("]})"),
       {400}},
      {"a long prompt",
       post("/v1/completions", R"({"prompt": ")" + std::string(200'000, 'a') + R"("})"),
       {400}},
      {"many prompts",
       post(
           "/v1/completions", R"({"prompt": [)" +
                                  [] {
                                    std::string list = "\"a\"";
                                    for (int i = 0; i < 300; ++i) list += ",\"a\"";
                                    return list;
                                  }() +
                                  "]}"),
       {400}},
      {"fields without end",
       completions([] {
         std::string unknown = R"("max_tokens": 1)";
         for (int i = 0; i < 60'000; ++i) unknown += ", \"field" + std::to_string(i) + "\": 0";
         return unknown;
       }()),
       {400}},
      {"arguments of members without end",
       post("/v1/chat/completions", R"({"max_tokens": 2, "messages": [{"role": "user", "content": "a"},
          {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": )" +
                                        json_string([] {
                                          std::string members = "{";
                                          for (int i = 0; i < 60'000; ++i)
                                            members += "\"" + std::to_string(i) + "\":0,";
                                          return members + "\"a\":0}";
                                        }()) +
                                        R"(}}]}, {"role": "tool", "tool_call_id": "1", "content": "b"}]})"),
       {400},
       "messages"},
      {"a token for every letter",
       post("/tokenize", R"({"with_pieces": true, "content": ")" + std::string(900'000, '~') + "\"}"),
       {200}},
      {"more answers than may wait", post("/v1/completions", R"({"prompt": "a", "n": 16})"), {400}},
  };
}

}  // namespace augur::hostile

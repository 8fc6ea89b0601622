#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

/// Much longer than anybody waits; but for its context it would never end.
constexpr std::string_view kEndless = R"("max_tokens": 100000, "ignore_eos": true)";

std::string endless(std::string_view more = {}) {
  return completions(std::string(kEndless) + std::string(more));
}
std::string part(const std::string& request, std::size_t bytes) {
  return request.substr(0, bytes);
}

}  // namespace

/// Clients that leave, at every point of a request. What they asked for ends.
std::vector<Case> cancellation() {
  const std::string whole = endless();
  const std::size_t body = whole.find("\r\n\r\n") + 4;
  const std::string next = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  return {
      {"before anything", "", {0}, "", Then::LeavesAtOnce},
      {"behind a letter", part(whole, 1), {0}, "", Then::LeavesAtOnce},
      {"in the header", part(whole, 40), {0}, "", Then::LeavesAtOnce},
      {"between header and body", part(whole, body), {0}, "", Then::LeavesAtOnce},
      {"before the last byte", part(whole, whole.size() - 1), {0}, "", Then::LeavesAtOnce},
      {"while it is answered", whole, {0}, "", Then::LeavesAtOnce},
      {"behind a byte more", whole + "G", {0}, "", Then::LeavesAtOnce},
      {"behind another request", whole + next, {0}, "", Then::LeavesAtOnce},
      {"behind a hundred requests", whole + repeated(next, 100), {0}, "", Then::LeavesAtOnce},
      {"in a stream", endless(R"(, "stream": true)"), {200}, "", Then::LeavesMidway},
      {"in a stream, behind a byte more",
       endless(R"(, "stream": true)") + "G",
       {200},
       "",
       Then::LeavesMidway},
      {"in a stream of four choices", endless(R"(, "stream": true, "n": 4)"), {200}, "", Then::LeavesMidway},
      {"in a stream of drafts",
       endless(R"(, "stream": true, "return_speculation": true)"),
       {200},
       "",
       Then::LeavesMidway},
      {"in a chat", chat(std::string(kEndless) + R"(, "stream": true)"), {200}, "", Then::LeavesMidway},
      {"in the Responses' stream",
       responses(R"("ignore_eos": true, "stream": true)"),
       {200},
       "",
       Then::LeavesMidway},
      {"in Anthropic's stream",
       post(
           "/v1/messages",
           R"({"max_tokens": 100000, "ignore_eos": true, "stream": true, "messages": [{"role": "user", "content": "a"}]})"),
       {200},
       "",
       Then::LeavesMidway},
      {"in llama.cpp's stream",
       llamacpp(R"("ignore_eos": true, "stream": true)"),
       {200},
       "",
       Then::LeavesMidway},
      {"while a text is tokenised",
       post("/tokenize", R"({"content": ")" + repeated("ab ", 300'000) + "\"}"),
       {0},
       "",
       Then::LeavesAtOnce},
      {"while a grammar is compiled",
       llamacpp(R"("grammar": "root ::= [a-z]{0,9000} [b-y]{0,9000} [c-x]{0,9000}")"),
       {0},
       "",
       Then::LeavesAtOnce},
      {"while another place is waited for", endless(R"(, "n": 8)"), {0}, "", Then::LeavesAtOnce},
      {"with a time that is over at once", endless(R"(, "timeout": 0.001)"), {504}},
      {"with a time that is over in a stream", endless(R"(, "timeout": 0.01, "stream": true)"), {200, 504}},
      {"with a time that is over in a grammar",
       completions(R"("timeout": 0.001, "guided_regex": "(a|b)*a(a|b){500}c")"),
       {504, 400}},
      {"and the server goes on", completions(R"("max_tokens": 2)"), {200}},
  };
}

}  // namespace augur::hostile

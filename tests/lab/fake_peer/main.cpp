// A server as `augur bench suite --peers` expects one: it answers as many words as it may, and says what it
// was sent.
#include <httplib.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

int words_of(const std::string& text) {
  std::istringstream words(text);
  int count = 0;
  for (std::string word; words >> word;) ++count;
  return count;
}

/// Of a chat's messages, or of a prompt.
int words_asked(const nlohmann::json& request) {
  if (request.contains("prompt")) return words_of(request.at("prompt"));
  int count = 0;
  for (const auto& message : request.at("messages")) count += words_of(message.at("content"));
  return count;
}

nlohmann::json answer_to(const nlohmann::json& request, bool timings) {
  const int tokens = request.at("max_tokens");
  std::string text;
  for (int i = 0; i < tokens; ++i) text += "word ";
  const nlohmann::json message = {{"role", "assistant"}, {"content", text}};
  const nlohmann::json choice = {{request.contains("prompt") ? "text" : "message",
                                  request.contains("prompt") ? nlohmann::json(text) : message}};
  nlohmann::json answer = {
      {"choices", nlohmann::json::array({choice})},
      {"usage", {{"prompt_tokens", words_asked(request)}, {"completion_tokens", tokens}}}};
  if (timings) {
    answer["timings"] = {{"predicted_n", tokens},
                         {"predicted_ms", 10.0 * tokens},
                         {"prompt_ms", 1.0},
                         {"draft_n", 6},
                         {"draft_n_accepted", 4}};
  }
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  httplib::Server server;
  server.Get("/health", [](const httplib::Request&, httplib::Response& answer) {
    answer.set_content("{}", "application/json");
  });
  server.Post("/v1/(chat/)?completions", [&](const httplib::Request& request, httplib::Response& answer) {
    if (how == "--die") std::_Exit(1);
    if (how == "--refuse") {
      answer.status = 500;
      answer.set_content("no room", "text/plain");
      return;
    }
    const nlohmann::json body = nlohmann::json::parse(request.body);
    if (how == "--own-defaults-count") {
      for (const char* field : {"temperature", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n",
                                "presence_penalty", "frequency_penalty", "seed"}) {
        if (body.contains(field)) continue;
        answer.status = 400;
        answer.set_content(std::string("my own ") + field, "text/plain");
        return;
      }
    }
    answer.set_content(how == "--nonsense" ? "{}" : answer_to(body, how != "--no-timings").dump(),
                       "application/json");
  });
  const char* port = std::getenv("PORT");
  return port != nullptr && server.listen("127.0.0.1", std::atoi(port)) ? 0 : 1;
}

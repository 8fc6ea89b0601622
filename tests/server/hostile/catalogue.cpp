#include "server/hostile/catalogue.h"

#include <nlohmann/json.hpp>

namespace augur::hostile {
namespace {

std::string with(std::string_view path, std::string_view body, std::string_view more) {
  return post(path, std::string(body) + (more.empty() ? "" : ", ") + std::string(more) + "}");
}

constexpr std::string_view kUser = R"("messages": [{"role": "user", "content": "Once upon a time"}])";

}  // namespace

const std::vector<Kind>& catalogue() {
  static const std::vector<Kind> all = {
      {"framing", framing, true},
      {"sizes", sizes},
      {"nesting", nesting},
      {"numbers", numbers},
      {"unicode", unicode},
      {"grammars", grammars},
      {"schemas", schemas},
      {"templates", templates},
      {"tools", tools},
      {"slots", slots},
      {"cancellation", cancellation},
      {"tenancy", tenancy},
  };
  return all;
}

std::string head(std::string_view method, std::string_view path) {
  return std::string(method) + " " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
}

std::string post(std::string_view path, std::string_view body, std::string_view fields) {
  std::string request = head("POST", path) + std::string(fields);
  const bool framed = fields.find("Content-Length") != std::string_view::npos ||
                      fields.find("Transfer-Encoding") != std::string_view::npos;
  if (!framed) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return request + "\r\n" + std::string(body);
}

std::string get(std::string_view path, std::string_view fields) {
  return head("GET", path) + std::string(fields) + "\r\n";
}

std::string completions(std::string_view more) {
  return with("/v1/completions", R"({"prompt": "Once upon a time")", more);
}
std::string chat(std::string_view more) {
  return with("/v1/chat/completions", "{" + std::string(kUser), more);
}
std::string responses(std::string_view more) {
  return with("/v1/responses", R"({"input": "Once upon a time")", more);
}
std::string messages(std::string_view more) {
  return with("/v1/messages", R"({"max_tokens": 4, )" + std::string(kUser), more);
}
std::string llamacpp(std::string_view more) {
  return with("/completion", R"({"prompt": "Once upon a time")", more);
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump();
}

}  // namespace augur::hostile

#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace augur::hostile {

/// What a client does when it has sent its request.
enum class Then {
  Reads,         ///< the whole answer
  LeavesAtOnce,  ///< reads nothing
  LeavesMidway,  ///< when the answer has begun
};

/// One request, on a connection of its own, and what a documented answer to it is.
struct Case {
  std::string name;
  std::string bytes;          ///< as they are sent
  std::vector<int> statuses;  ///< any of them. 0: the connection just ends
  std::string field = {};     ///< that the answer blames; empty: it blames none, or is no refusal
  Then then = Then::Reads;
};

/// The requests of one kind.
struct Kind {
  std::string name;
  std::vector<Case> (*cases)();
  /// Its answers are HTTP's, before any API has a say: the page of operations tells of them, and OpenAPI does
  /// not.
  bool before_any_api = false;
};

/// Every kind. What the cases expect is said for a server of the stories model with the template kTemplate,
/// the limits of HostileTest, two places and a queue of eight.
const std::vector<Kind>& catalogue();

std::vector<Case> framing();
std::vector<Case> sizes();
std::vector<Case> nesting();
std::vector<Case> numbers();
std::vector<Case> unicode();
std::vector<Case> grammars();
std::vector<Case> schemas();
std::vector<Case> templates();
std::vector<Case> tools();
std::vector<Case> slots();
std::vector<Case> cancellation();
std::vector<Case> tenancy();  ///< for a server with the keys kAlice and kBob

constexpr std::string_view kAlice = "alice-0123456789";
constexpr std::string_view kBob = "bob-9876543210";

// Requests as text.

/// What every header begins with: the request line, Host, and that the connection ends with the answer.
std::string head(std::string_view method, std::string_view path);
/// "HEADER FIELDS\r\n\r\nBODY" of a POST, with Host, and with Content-Length where `fields` say nothing of
/// it.
std::string post(std::string_view path, std::string_view body, std::string_view fields = {});
std::string get(std::string_view path, std::string_view fields = {});

// An ordinary request of each API, and `more` members (none: an empty text).
std::string completions(std::string_view more);  ///< OpenAI's /v1/completions
std::string chat(std::string_view more);         ///< OpenAI's /v1/chat/completions
std::string responses(std::string_view more);    ///< OpenAI's /v1/responses
std::string messages(std::string_view more);     ///< Anthropic's /v1/messages; max_tokens is there
std::string llamacpp(std::string_view more);     ///< /completion

std::string repeated(std::string_view text, int times);
/// As a JSON string.
std::string json_string(std::string_view text);

}  // namespace augur::hostile

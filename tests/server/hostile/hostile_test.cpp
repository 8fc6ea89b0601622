#include "server/hostile/hostile_test.h"

#include <httplib.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "server/openapi.h"
#include "support/eventually.h"

namespace augur::hostile {
namespace {

using nlohmann::json;
using testing_support::RawClient;

constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr const char* kHostileAddress = "127.0.0.2";  // a client of its own beside the neighbour

/// Of a family that knows tools; as simple as may be.
constexpr const char* kTemplate =
    "{% if tools %}{{ tools | tojson }} <tool_call>{% endif %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}"
    "{% for c in m.tool_calls or [] %} {{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor "
    "%}\n"
    "{% endfor %}";

SessionOptions session_options() {
  return {.parallel = 2,
          .queue = 8,
          .drafts = {.nodes = 64, .depth = 16, .topk = 16},
          .memory = 64 * kMib,
          .cache_bytes = 16 * kMib};
}

ServiceOptions service_options(const std::vector<std::string>& keys, const Limits& limits,
                               const std::string& folder) {
  return {.model = "stories",
          .api_keys = keys,
          .speculation = {},
          .log = {.requests = false},
          .slot_save_path = folder,
          .limits = limits};
}

Answer read(const std::string& bytes) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  Answer answer;
  if (bytes.size() < kVersion.size() + 3 || !bytes.starts_with("HTTP/1.")) return answer;
  std::from_chars(bytes.data() + kVersion.size(), bytes.data() + kVersion.size() + 3, answer.status);
  const std::size_t end = bytes.find("\r\n\r\n");
  answer.header = bytes.substr(0, end);
  if (end != std::string::npos) answer.body = bytes.substr(end + 4);
  return answer;
}

/// What the OpenAPI description says of a request's path and method; null: nothing.
const json* operation_of(const std::string& request) {
  static const json paths = json::parse(openapi_description()["paths"].dump());
  const std::size_t space = request.find(' ');
  const std::string target = request.substr(space + 1, request.find(' ', space + 1) - space - 1);
  std::string path = target.substr(0, target.find('?'));
  if (path.starts_with("/slots/")) path = "/slots/{id}";
  const auto found = paths.find(path);
  if (found == paths.end()) return nullptr;
  const auto operation = found->find(request.starts_with("POST") ? "post" : "get");
  return operation == found->end() ? nullptr : &*operation;
}

/// The error in an answer's body, in the form of the API that was asked.
json error_of(const Answer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  EXPECT_TRUE(body.is_object() && body.contains("error") && body["error"].is_object()) << answer.body;
  return body.is_object() ? body.value("error", json::object()) : json::object();
}

}  // namespace

void HostileTest::SetUpTestSuite() {
  stories_ = std::make_unique<testing_support::TemplatedStories>(kTemplate, true);
}

HostileTest::HostileTest(const std::vector<std::string>& keys)
    : service_(service_options(keys, limits(), folder_.path().string())),
      server_({.port = 0, .limits = limits()}, service_) {
  service_.open(*stories_->engine, session_options());
  neighbour_ = std::make_unique<Neighbour>(service_.session());
  fill_folder();
  const std::string key = keys.empty() ? "" : "x-api-key: " + keys.front() + "\r\n";
  neighbour_->hold();
  neighbour_->longest_wait();
  neighbour_->let_go();
  EXPECT_EQ(status_of(post("/v1/completions", R"({"prompt": "Once", "max_tokens": 32})", key)), 200);
  ordinary_wait_ = neighbour_->longest_wait();
}

HostileTest::~HostileTest() {
  neighbour_.reset();
  service_.drain();
}

void HostileTest::fill_folder() {
  const std::filesystem::path& folder = folder_.path();
  std::ofstream(folder / "outside") << "precious";
  std::filesystem::create_symlink(folder / "outside", folder / "link");
  std::filesystem::create_symlink(folder / "nowhere", folder / "dangling");
  std::filesystem::create_directory(folder / "folder");
  std::ofstream(folder / "garbage.bin") << "no text";
  std::ofstream(folder / "empty.bin").flush();
  EXPECT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
}

Limits HostileTest::limits() {
  Limits limits;
  limits.client_ms = 1000;
  limits.body_bytes = kMib;
  limits.header_bytes = 16 << 10;
  limits.http_bytes = 32 * kMib;
  limits.saved_bytes = 64 * kMib;
  return limits;
}

Answer HostileTest::answer_to(const std::string& bytes) {
  RawClient client(server_.port(), kHostileAddress);
  client.send(bytes);
  return read(client.read_all());
}

Answer HostileTest::send(const Case& hostile) {
  constexpr int kSteps = 3;
  RawClient client(server_.port(), kHostileAddress);
  neighbour_->hold();
  client.send(hostile.bytes);
  for (int i = 0; i < kSteps; ++i) {
    check_health();
    neighbour_->hold();
  }
  neighbour_->let_go();
  switch (hostile.then) {
    case Then::Reads:
      return read(client.read_all());
    case Then::LeavesAtOnce:
      return {};
    case Then::LeavesMidway:
      return read(client.read_until("data: "));
  }
  return {};
}

void HostileTest::check(const Case& hostile, bool by_api) {
  SCOPED_TRACE(hostile.name);
  neighbour_->longest_wait();
  const Answer answer = send(hostile);
  check_health();
  if (hostile.then != Then::Reads) wait_until_idle();
  EXPECT_THAT(hostile.statuses, testing::Contains(answer.status)) << answer.body.substr(0, 2000);
  if (answer.status != 0) check_answer(hostile, answer, by_api);
  EXPECT_LE(neighbour_->longest_wait(), ordinary_wait_ + 2);
  check_accounts();
}

void HostileTest::check_answer(const Case& hostile, const Answer& answer, bool by_api) {
  EXPECT_NE(answer.status, 500) << answer.body;
  if (const json* operation = by_api ? operation_of(hostile.bytes) : nullptr) {
    EXPECT_TRUE((*operation)["responses"].contains(std::to_string(answer.status))) << answer.status;
  }
  if (answer.status < 400) return;
  const json error = error_of(answer);
  const std::string message = error.value("message", "");
  EXPECT_NE(message, "");
  EXPECT_FALSE(error.value("type", "").empty());
  if (answer.status == 429 || answer.status == 503) {
    EXPECT_NE(answer.header.find("Retry-After"), std::string::npos);
  }
  if (hostile.field.empty()) return;
  if (error.contains("param")) {
    EXPECT_EQ(error["param"], hostile.field) << message.substr(0, 2000);
  } else {  // Anthropic's form has no place for it
    EXPECT_NE(message.find("'" + hostile.field + "'"), std::string::npos) << message.substr(0, 2000);
  }
}

void HostileTest::check_accounts() {
  EXPECT_LE(server_.held_bytes(), limits().http_bytes);
  const SessionLoad now = load();
  EXPECT_LE(now.memory_in_use, now.memory);
  EXPECT_LE(now.cache_bytes_in_use, session_options().cache_bytes);
  std::int64_t saved = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    if (entry.is_regular_file() && !entry.is_symlink()) saved += static_cast<std::int64_t>(entry.file_size());
  }
  EXPECT_LE(saved, limits().saved_bytes);
}

void HostileTest::check_health() {
  const httplib::Result health = httplib::Client("127.0.0.1", server_.port()).Get("/health");
  ASSERT_TRUE(health) << "the server has gone";
  EXPECT_EQ(health->status, 200);
}

void HostileTest::wait_until_idle() {
  ASSERT_TRUE(testing_support::poll_until([&] { return load().running + load().waiting <= 1; }));
}

}  // namespace augur::hostile

// Handles, and structs of callers of other versions.
#include <augur/augur.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>

namespace {

using testing::HasSubstr;

const std::string kModel = std::string(AUGUR_SOURCE_DIR) + "/models/stories260k";

augur_engine* load() {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}";
  options.cost_cache = "none";
  return augur_load(&options);
}

void expect_misuse(const char* words) {
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_MISUSE) << augur_last_error();
  EXPECT_THAT(augur_last_error(), HasSubstr(words));
}

TEST(CHandles, AreRefusedOnceTheyAreFreed) {
  augur_engine* engine = load();
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_request request = augur_request_default();
  request.prompt = "Once";
  request.max_tokens = 3;
  augur_result* result = augur_generate(engine, &request, nullptr, nullptr);
  augur_result_free(result);
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_NONE);
  EXPECT_STREQ(augur_result_text(result), "");
  expect_misuse("the result does not exist");
  augur_result_free(result);
  expect_misuse("the result does not exist");

  augur_session* session = augur_session_open(engine, nullptr);
  augur_ticket* ticket = augur_submit(session, &request, 0, nullptr, nullptr);
  EXPECT_EQ(augur_session_close(session), 0);
  EXPECT_EQ(augur_session_close(session), -1);
  expect_misuse("the session does not exist");
  EXPECT_EQ(augur_submit(session, &request, 0, nullptr, nullptr), nullptr);
  expect_misuse("the session does not exist");
  EXPECT_EQ(augur_ended(ticket), 1) << "a ticket outlives its session";
  augur_ticket_free(ticket);
  EXPECT_EQ(augur_wait(ticket), nullptr);
  expect_misuse("the ticket does not exist");

  EXPECT_EQ(augur_free(engine), 0);
  EXPECT_EQ(augur_free(engine), -1);
  expect_misuse("the engine does not exist");
  EXPECT_EQ(augur_tokenize(engine, "Lily", nullptr, 0), -1);
  expect_misuse("the engine does not exist");
  engine = load();
  // A handle of another type, and a pointer.
  EXPECT_EQ(augur_ended(reinterpret_cast<augur_ticket*>(engine)), -1);
  expect_misuse("the ticket does not exist");
  EXPECT_EQ(augur_ended(reinterpret_cast<augur_ticket*>(&request)), -1);
  expect_misuse("the ticket does not exist");
  EXPECT_EQ(augur_free(engine), 0);
}

TEST(CHandles, MayBeFreedWhileOtherThreadsUseThem) {
  augur_engine* engine = load();
  augur_session* session = augur_session_open(engine, nullptr);
  augur_request request = augur_request_default();
  request.prompt = "Once";
  int accepted = 0;
  std::thread other([&] {
    // Until the session is gone.
    while (augur_ticket* ticket = augur_submit(session, &request, 0, nullptr, nullptr)) {
      ++accepted;
      augur_result_free(augur_wait(ticket));
      augur_ticket_free(ticket);
    }
    expect_misuse("");
  });
  EXPECT_EQ(augur_session_close(session), 0);
  other.join();
  EXPECT_GE(accepted, 0);
  EXPECT_EQ(augur_free(engine), 0) << augur_last_error();
}

/// A struct of a version to come.
template <class Struct>
struct Newer {
  Struct known;
  std::int64_t field_to_come;
};

TEST(CStructs, RefuseWhatTheyDoNotKnow) {
  Newer<augur_engine_options> options;
  augur_engine_options_init(&options.known, sizeof(options));
  options.known.model = kModel.c_str();
  augur_engine* engine = augur_load(&options.known);
  ASSERT_NE(engine, nullptr) << augur_last_error();
  options.field_to_come = 1;
  EXPECT_EQ(augur_load(&options.known), nullptr);
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_REFUSED_FIELD);
  EXPECT_STREQ(augur_last_error_field(), "augur_engine_options");
  EXPECT_THAT(augur_last_error(), HasSubstr("unknown options"));
  Newer<augur_request> request;
  augur_request_init(&request.known, sizeof(request));
  request.field_to_come = 256;
  EXPECT_EQ(augur_generate(engine, &request.known, nullptr, nullptr), nullptr);
  EXPECT_STREQ(augur_last_error_field(), "augur_request");
  Newer<augur_session_options> session;
  augur_session_options_init(&session.known, sizeof(session));
  session.field_to_come = -1;
  EXPECT_EQ(augur_session_open(engine, &session.known), nullptr);
  EXPECT_STREQ(augur_last_error_field(), "augur_session_options");
  // What the library fills is 0 where it knows nothing.
  Newer<augur_model_info> info;
  std::memset(&info, 0x5a, sizeof(info));
  info.known.size = sizeof(info);
  EXPECT_EQ(augur_engine_get_info(engine, &info.known), 0);
  EXPECT_EQ(info.field_to_come, 0);
  EXPECT_EQ(info.known.vocab, 512);
  info.known.size = sizeof(info) - 4;
  EXPECT_EQ(augur_engine_get_info(engine, &info.known), -1);
  expect_misuse("size is");
  EXPECT_EQ(augur_free(engine), 0);
}

std::string rendered(const augur_engine* engine, const augur_request& request) {
  std::array<char, 256> text;
  if (augur_render_chat(engine, &request, text.data(), text.size()) < 0)
    return augur_last_error_field() + std::string(": ") + augur_last_error();
  return text.data();
}

TEST(CStructs, MessagesAreAsLongAsTheCallerSays) {
  augur_engine* engine = load();
  ASSERT_NE(engine, nullptr) << augur_last_error();
  // Of a caller that is older than message_size.
  const char* const old[][2] = {{"user", "Hi"}, {"assistant", "Ho"}};
  augur_request request;
  augur_request_init(&request, offsetof(augur_request, message_size));
  request.messages = reinterpret_cast<const augur_message*>(old);
  request.message_count = 2;
  EXPECT_EQ(rendered(engine, request), "user: Hi. assistant: Ho. ");
  // Of one that says nothing.
  augur_message first[2] = {};
  first[0].role = "user";
  first[1].role = "tool";
  first[1].content = "3 degrees";
  augur_request_init(&request, sizeof(request));
  EXPECT_EQ(request.message_size, 0u);
  request.messages = first;
  request.message_count = 2;
  EXPECT_EQ(rendered(engine, request), "user: . tool: 3 degrees. ");
  // Of one that is newer.
  Newer<augur_message> newer[2] = {};
  newer[0].known.role = "user";
  newer[1].known.role = "assistant";
  request.messages = &newer[0].known;
  request.message_size = sizeof(newer[0]);
  EXPECT_EQ(rendered(engine, request), "user: . assistant: . ");
  newer[1].field_to_come = 1;
  EXPECT_THAT(rendered(engine, request), HasSubstr("messages: messages: unknown options"));
  request.message_size = 12;
  EXPECT_THAT(rendered(engine, request), HasSubstr("messages: size is 12"));
  EXPECT_EQ(augur_free(engine), 0);
}

TEST(CStructs, CountsThatNoArrayHasAreRefused) {
  augur_engine* engine = load();
  const std::int32_t token = 1;
  augur_request request = augur_request_default();
  request.prompt_tokens = &token;
  request.prompt_token_count = SIZE_MAX;
  EXPECT_EQ(augur_generate(engine, &request, nullptr, nullptr), nullptr);
  expect_misuse("prompt_tokens: its count is");
  EXPECT_EQ(augur_detokenize(engine, &token, SIZE_MAX, nullptr, 0), -1);
  expect_misuse("tokens: its count is");
  EXPECT_EQ(augur_free(engine), 0);
}

}  // namespace

// Kinds of errors, as C programs and those that catch the library's exceptions see them.
#include <augur/augur.h>
#include <augur/session.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "misuse.h"

namespace {

const std::string kModel = std::string(AUGUR_SOURCE_DIR) + "/models/stories260k";

augur_engine* load(const char* model, const char* draft = nullptr, const char* weights = nullptr) {
  augur_engine_options options = augur_engine_options_default();
  options.model = model;
  options.draft_model = draft;
  options.weights = weights;
  options.cost_cache = "none";
  return augur_load(&options);
}

TEST(CErrors, MisuseOfAnEngine) {
  const char* const wrong = misuse_of_an_engine(kModel.c_str());
  EXPECT_EQ(wrong, nullptr) << wrong;
}

TEST(CErrors, MisuseOfASession) {
  const char* const wrong = misuse_of_a_session(kModel.c_str());
  EXPECT_EQ(wrong, nullptr) << wrong;
}

TEST(CErrors, KindsOfLoading) {
  EXPECT_EQ(load("/no/such/model"), nullptr);
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_NOT_FOUND);
  EXPECT_STREQ(augur_last_error_field(), "");
  EXPECT_EQ(load(kModel.c_str(), nullptr, "int1"), nullptr);
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_REFUSED_FIELD);
  EXPECT_STREQ(augur_last_error_field(), "weights");
  EXPECT_EQ(augur_load(nullptr), nullptr);
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_MISUSE);
  EXPECT_STREQ(augur_last_error_field(), "");
  augur_engine* engine = load(kModel.c_str());
  ASSERT_NE(engine, nullptr) << augur_last_error();
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_NONE);
  EXPECT_EQ(augur_free(engine), 0);
}

TEST(CErrors, KindsOfRequests) {
  augur_engine* engine = load(kModel.c_str());
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_session* session = augur_session_open(engine, nullptr);
  const auto kind_of = [&](const augur_request& request) {
    augur_ticket* ticket = augur_submit(session, &request, 0, nullptr, nullptr);
    EXPECT_EQ(augur_wait(ticket), nullptr);
    augur_ticket_free(ticket);
    return std::pair(augur_last_error_kind(), std::string(augur_last_error_field()));
  };
  augur_request request = augur_request_default();
  request.prompt = "Once";
  request.top_p = 7;
  EXPECT_EQ(kind_of(request), std::pair(int32_t{AUGUR_ERROR_REFUSED_FIELD}, std::string("top_p")));
  request = augur_request_default();
  const std::string long_prompt(20000, 'a');
  request.prompt = long_prompt.c_str();
  EXPECT_EQ(kind_of(request), std::pair(int32_t{AUGUR_ERROR_CONTEXT_FULL}, std::string()));
  request.prompt = "Once";
  request.grammar = "{";
  EXPECT_EQ(kind_of(request), std::pair(int32_t{AUGUR_ERROR_MALFORMED}, std::string("grammar")));
  EXPECT_EQ(augur_session_close(session), 0);
  EXPECT_EQ(augur_free(engine), 0);
}

TEST(CErrors, AFullQueue) {
  augur_engine* engine = load(kModel.c_str());
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_session_options options = augur_session_options_default();
  options.parallel = 1;
  options.queue = 1;
  augur_session* session = augur_session_open(engine, &options);
  ASSERT_NE(session, nullptr) << augur_last_error();
  augur_request request = augur_request_default();
  request.prompt = "Once";
  int refused = 0;
  std::vector<augur_ticket*> tickets;
  for (int i = 0; i < 50; ++i) {
    if (augur_ticket* ticket = augur_submit(session, &request, 0, nullptr, nullptr)) {
      tickets.push_back(ticket);
      continue;
    }
    EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_QUEUE_FULL) << augur_last_error();
    ++refused;
  }
  EXPECT_GE(refused, 1);
  EXPECT_EQ(augur_session_close(session), 0);
  for (augur_ticket* ticket : tickets) {
    augur_result_free(augur_wait(ticket));
    augur_ticket_free(ticket);
  }
  EXPECT_EQ(augur_free(engine), 0);
}

TEST(CErrors, WhatFailsOnItsWayHasWhatItHasGot) {
  augur_engine* engine = load(kModel.c_str());
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_session* session = augur_session_open(engine, nullptr);
  augur_request request = augur_request_default();
  request.prompt = "Once upon a time";
  request.max_tokens = 12;
  int tokens = 0;
  // A callback in C++ may throw: what it has got by then is not lost.
  const auto take = [](const char*, size_t, int32_t, void* user) -> int32_t {
    if (++*static_cast<int*>(user) == 3) throw std::string("enough");
    return 1;
  };
  augur_ticket* ticket = augur_submit(session, &request, 0, take, &tokens);
  augur_result* result = augur_wait(ticket);
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(augur_last_error_kind(), AUGUR_ERROR_INTERNAL);
  EXPECT_STREQ(augur_last_error(), "unknown failure");
  EXPECT_STREQ(augur_result_finish_reason(result), "error");
  size_t count = 0;
  augur_result_tokens(result, &count);
  EXPECT_GE(count, 3u);
  EXPECT_STRNE(augur_result_text(result), "");
  augur_result_free(result);
  augur_ticket_free(ticket);
  EXPECT_EQ(augur_session_close(session), 0);
  EXPECT_EQ(augur_free(engine), 0);
}

TEST(Errors, AreCaughtByTypeAcrossTheLibrarysBorder) {
  try {
    const augur::Engine engine({.model = "/no/such/model"});
    FAIL();
  } catch (const augur::Error& error) {
    EXPECT_EQ(error.kind(), augur::ErrorKind::NotFound);
    EXPECT_THAT(error.what(), testing::HasSubstr("/no/such/model"));
  }
  const augur::Error copy = augur::Error({augur::ErrorKind::RefusedField, "here"}, "there");
  EXPECT_EQ(copy.field(), "here");
  EXPECT_STREQ(copy.what(), "there");
  EXPECT_EQ(augur::QueueFull("full").kind(), augur::ErrorKind::QueueFull);
}

TEST(Errors, LoadingIsCancelledAfterItsLastProgress) {
  std::atomic<bool> cancel = false;
  augur::EngineOptions options;
  options.model = kModel;
  options.cost_cache = "none";
  options.cancel = &cancel;
  options.progress = [&](std::string_view, double fraction) { cancel = fraction == 1.0; };
  try {
    const augur::Engine engine(options);
    FAIL() << "is loaded";
  } catch (const augur::Error& error) {
    EXPECT_EQ(error.kind(), augur::ErrorKind::Cancelled) << error.what();
  }
}

}  // namespace

#include "server/server_metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "augur/build_info.h"
#include "base/utf8.h"

namespace augur {
namespace {

using testing::HasSubstr;

std::string metrics_of(const std::string& model, const std::string& drafter = "draft") {
  ServerMetrics metrics(model);
  Result result;
  result.speculation.type = drafter;
  result.speculation.calls = 1;
  metrics.ended(result, {.whole = 1});
  metrics.count_refusal(400);
  return metrics.text({.memory = 64, .page_tokens = 64, .page_bytes = 1});
}

/// Files may have any names, and Prometheus takes UTF-8 alone.
TEST(ServerMetrics, LabelsAreUtf8WhateverAModelIsCalled) {
  for (const char* name :
       {"caf\xe9", "\xff\xfe", "half \xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc1\x81"}) {
    for (const std::string& text : {metrics_of(name), metrics_of("model", name)}) {
      EXPECT_EQ(valid_utf8_prefix(text), text.size()) << text.substr(valid_utf8_prefix(text), 100);
      EXPECT_THAT(text, HasSubstr("\xef\xbf\xbd")) << "what is no character is one that says so";
    }
  }
  EXPECT_THAT(metrics_of("caf\xc3\xa9"), HasSubstr("model_name=\"caf\xc3\xa9\""));
}

/// How often a line is there whose name begins so.
int lines(const std::string& text, const std::string& name) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find("\n" + name, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(ServerMetrics, TokensAreCountedAsTheyAreMade) {
  ServerMetrics metrics("m");
  metrics.began(0.5);
  metrics.first_token(1, 7);
  metrics.drafted(4);
  metrics.next_token(0.1);
  metrics.accepted_token(1);
  metrics.next_token(0.1);
  metrics.accepted_token(2);
  const std::string text = metrics.text({});
  for (const char* line :
       {"vllm:prompt_tokens_total{model_name=\"m\"} 7\n",
        "vllm:generation_tokens_total{model_name=\"m\"} 3\n",
        "vllm:spec_decode_num_drafts_total{model_name=\"m\"} 1\n",
        "vllm:spec_decode_num_draft_tokens_total{model_name=\"m\"} 4\n",
        "vllm:spec_decode_num_accepted_tokens_total{model_name=\"m\"} 2\n",
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"m\",position=\"0\"} 1\n",
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"m\",position=\"1\"} 1\n",
        "vllm:request_queue_time_seconds_sum{model_name=\"m\"} 0.5\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  Result result;
  result.prompt_tokens = 7;
  result.tokens = {1, 2, 3};
  result.finish_reason = FinishReason::Length;
  metrics.ended(result, {.whole = 2, .prompt = 0.5, .writing = 0.2, .has_token = true});
  const std::string ended = metrics.text({});
  EXPECT_THAT(ended, HasSubstr("vllm:prompt_tokens_total{model_name=\"m\"} 7\n")) << "counted once";
  EXPECT_THAT(ended, HasSubstr("vllm:generation_tokens_total{model_name=\"m\"} 3\n"));
  EXPECT_THAT(ended, HasSubstr("vllm:request_generation_tokens_sum{model_name=\"m\"} 3\n"));
  EXPECT_THAT(ended, HasSubstr("vllm:request_inference_time_seconds_sum{model_name=\"m\"} 0.7\n"));
  EXPECT_THAT(ended, HasSubstr("vllm:request_time_per_output_token_seconds_sum{model_name=\"m\"} 0.1\n"));
}

TEST(ServerMetrics, APromptWithoutATokenCountsAtItsEnd) {
  ServerMetrics metrics("m");
  Result result;
  result.prompt_tokens = 7;
  result.finish_reason = FinishReason::Cancelled;
  metrics.ended(result, {.whole = 2});
  EXPECT_THAT(metrics.text({}), HasSubstr("vllm:prompt_tokens_total{model_name=\"m\"} 7\n"));
}

TEST(ServerMetrics, UsageIsOfWhatRuns) {
  ServerMetrics metrics("m");
  const std::string text = metrics.text(
      {.preemptions = 3, .memory = 100, .memory_in_use = 80, .memory_running = 25, .cache_bytes_in_use = 70});
  EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc{model_name=\"m\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("augur:prefix_cache_bytes{model_name=\"m\"} 70\n"));
  EXPECT_THAT(text, HasSubstr("vllm:num_preemptions_total{model_name=\"m\"} 3\n"));
}

TEST(ServerMetrics, TellsOfTheProcess) {
  const BuildInfo& build = build_info();
  const std::string built =
      fmt::format("augur:build_info{{model_name=\"m\",commit=\"{}\",compiler=\"{}\",version=\"{}\"}} 1\n",
                  build.commit, build.compiler, build.version);
  while (std::clock() < CLOCKS_PER_SEC / 20) {  // some ticks of the system's clock
  }
  const std::string text = ServerMetrics("m").text({});
  EXPECT_THAT(text, HasSubstr(built));
  for (const char* name :
       {"process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds ",
        "process_max_fds ", "process_start_time_seconds ", "process_threads ",
        "augur:build_info{model_name=\"m\",", "process_virtual_memory_bytes "}) {
    EXPECT_EQ(lines(text, name), 1) << name << text;
    EXPECT_EQ(lines(text, name + std::string("0\n")), 0) << name;
  }
}

TEST(ServerMetrics, HasLlamaCppsNamesWhereTheyAreAskedFor) {
  EXPECT_EQ(lines(ServerMetrics("m").text({}), "llamacpp:"), 0);
  ServerMetrics metrics("m", true);
  metrics.first_token(1, 7);
  metrics.next_token(1);
  Result result;
  result.prompt_tokens = 7;
  result.cached_tokens = 2;
  result.tokens = {1, 2};
  metrics.ended(result, {.whole = 2, .prompt = 0.5, .writing = 1, .has_token = true});
  const std::string text = metrics.text({.running = 1, .waiting = 2, .steps = 9});
  for (const char* line : {"llamacpp:prompt_tokens_total 5\n", "llamacpp:prompt_seconds_total 0.5\n",
                           "llamacpp:tokens_predicted_total 2\n",
                           "llamacpp:tokens_predicted_seconds_total 1\n", "llamacpp:n_decode_total 9\n",
                           "llamacpp:prompt_tokens_seconds 10\n", "llamacpp:predicted_tokens_seconds 2\n",
                           "llamacpp:requests_processing 1\n", "llamacpp:requests_deferred 2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

/// A name cannot end its label, or the line.
TEST(ServerMetrics, LabelsAreQuoted) {
  EXPECT_THAT(metrics_of("a\"} 1\nevil{x=\"\\"), HasSubstr(R"(model_name="a\"} 1\nevil{x=\"\\")"));
}

}  // namespace
}  // namespace augur

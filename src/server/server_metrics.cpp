#include "server/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "augur/build_info.h"
#include "augur/engine.h"
#include "base/utf8.h"
#include "server/process_metrics.h"

namespace augur {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

// vLLM's, so that the same panels read both.
const Histogram::BucketBoundaries kFirstToken = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                                 0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                                 20,    40,    80,   160,  640,  2560};
const Histogram::BucketBoundaries kBetween = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                                              0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1,     2.5,
                                              5,     7.5,    10,    20,   40,    80};
const Histogram::BucketBoundaries kWhole = {0.1, 0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,
                                            20,  30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
const Histogram::BucketBoundaries kTokens = {1,    2,    5,    10,    20,    50,    100,    200,    500,
                                             1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000};
const Histogram::BucketBoundaries kChoices = {1, 2, 5, 10, 20};
const Histogram::BucketBoundaries kAccepted = {1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 15, 20};

}  // namespace

struct ServerMetrics::Families {
  Families(const std::string& model, bool with_llamacpp)
      : labels{{"model_name", to_valid_utf8(model)}}, llamacpp(with_llamacpp) {}

  Counter& counter(const std::string& name, const std::string& help, const Labels& more = {}) {
    return prometheus::BuildCounter().Name(name).Help(help).Labels(labels).Register(registry).Add(more);
  }
  Gauge& gauge(const std::string& name, const std::string& help, const Labels& more = {}) {
    return prometheus::BuildGauge().Name(name).Help(help).Labels(labels).Register(registry).Add(more);
  }
  Histogram& histogram(const std::string& name, const std::string& help,
                       const Histogram::BucketBoundaries& at, const Labels& more = {}) {
    return prometheus::BuildHistogram().Name(name).Help(help).Labels(labels).Register(registry).Add(more, at);
  }

  /// That of a depth in the draft, from 1. Looked up once: it is asked for at every token.
  Counter& accepted_at(int depth) {
    const std::lock_guard lock(mutex);
    while (std::ssize(by_position) < depth) {
      by_position.push_back(&counter("vllm:spec_decode_num_accepted_tokens_per_pos_total",
                                     "The same by position in the draft, from 0.",
                                     {{"position", std::to_string(by_position.size())}}));
    }
    return *by_position[static_cast<std::size_t>(depth - 1)];
  }

  struct Total {
    std::string name;
    std::string help;
    std::function<std::int64_t()> value;
  };
  /// What is counted elsewhere, or differs by who asks, is in no registry.
  std::vector<prometheus::MetricFamily> elsewhere(const SessionLoad& load) const {
    prometheus::Registry asked;
    const auto count = [&](const std::string& name, const std::string& help, std::int64_t value) {
      prometheus::BuildCounter().Name(name).Help(help).Labels(labels).Register(asked).Add({}).Increment(
          static_cast<double>(value));
    };
    count("vllm:prefix_cache_queries_total", "Tokens of prompts that were looked up.", load.prompt_tokens);
    count("vllm:prefix_cache_hits_total", "Tokens of prompts that needed not be read again.",
          load.cached_tokens);
    count("vllm:num_preemptions_total", "Requests that had to wait again, for memory or for others' turn.",
          load.preemptions);
    count("augur:steps_total", "Steps that the batch has made.", load.steps);
    for (const Total& total : totals) count(total.name, total.help, total.value());
    return asked.Collect();
  }
  std::vector<prometheus::MetricFamily> as_llamacpp(const SessionLoad& load) const;

  std::mutex mutex;
  std::condition_variable was_read;
  int reads = 0;

  const Labels labels;
  const bool llamacpp;
  std::vector<Total> totals;
  std::vector<Counter*> by_position;  ///< under the mutex
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};

  Gauge& running = gauge("vllm:num_requests_running", "Requests that are being decoded.");
  Gauge& waiting = gauge("vllm:num_requests_waiting", "Requests that wait for a place, or for memory.");
  Gauge& cache_use = gauge("vllm:kv_cache_usage_perc",
                           "Share of the memory for keys and values that running requests take, 0 to 1.");
  Counter& read = counter("vllm:prompt_tokens_total", "Tokens of prompts.");
  Counter& written = counter("vllm:generation_tokens_total", "Tokens that were generated.");
  Histogram& first =
      histogram("vllm:time_to_first_token_seconds", "From a request to its first token.", kFirstToken);
  Histogram& between = histogram("vllm:inter_token_latency_seconds", "From one token to the next.", kBetween);
  Histogram& whole = histogram("vllm:e2e_request_latency_seconds", "From a request to its end.", kWhole);
  Histogram& queued =
      histogram("vllm:request_queue_time_seconds", "From a request to its place in the batch.", kWhole);
  Histogram& prompt =
      histogram("vllm:request_prefill_time_seconds", "From a place in the batch to the first token.", kWhole);
  Histogram& writing =
      histogram("vllm:request_decode_time_seconds", "From the first token to the last one.", kWhole);
  Histogram& at_work = histogram("vllm:request_inference_time_seconds",
                                 "From a place in the batch to the last token.", kWhole);
  Histogram& pace = histogram("vllm:request_time_per_output_token_seconds",
                              "Mean time between tokens of a request.", kBetween);
  Histogram& prompt_length =
      histogram("vllm:request_prompt_tokens", "Tokens of a request's prompt.", kTokens);
  Histogram& answer_length =
      histogram("vllm:request_generation_tokens", "Tokens of a request's answer.", kTokens);
  Histogram& asked_tokens = histogram("vllm:request_params_max_tokens",
                                      "Tokens that a request asks for at most, where it says.", kTokens);
  Histogram& asked_choices = histogram("vllm:request_params_n", "Answers that a request asks for.", kChoices);
  Counter& drafts = counter("vllm:spec_decode_num_drafts_total", "Rounds that verified a draft.");
  Counter& drafted = counter("vllm:spec_decode_num_draft_tokens_total", "Drafted tokens that were verified.");
  Counter& accepted =
      counter("vllm:spec_decode_num_accepted_tokens_total", "Drafted tokens that were accepted.");
  Gauge& memory = gauge("augur:kv_memory_bytes", "Memory that texts may take.");
  Gauge& memory_in_use = gauge("augur:kv_memory_in_use_bytes", "Memory that they take.");
  Gauge& running_memory = gauge("augur:kv_memory_running_bytes",
                                "Of these, what running requests take; kept texts may share it.");
  Gauge& kept = gauge("augur:prefix_cache_bytes", "Of these, what texts take that are kept.");
  // For llama.cpp's names.
  std::atomic<double> prompt_seconds = 0;
  std::atomic<double> writing_seconds = 0;
  std::atomic<std::int64_t> read_tokens = 0;  ///< of prompts, without those that were cached
};

/// As llama.cpp's server has them, without labels.
std::vector<prometheus::MetricFamily> ServerMetrics::Families::as_llamacpp(const SessionLoad& load) const {
  prometheus::Registry all;
  const auto count = [&](const char* name, const char* help, double value) {
    prometheus::BuildCounter().Name(name).Help(help).Register(all).Add({}).Increment(value);
  };
  const auto show = [&](const char* name, const char* help, double value) {
    prometheus::BuildGauge().Name(name).Help(help).Register(all).Add({}).Set(value);
  };
  const auto tokens_read = static_cast<double>(read_tokens.load());
  const auto rate = [](double tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; };
  count("llamacpp:prompt_tokens_total", "Tokens of prompts that were read.", tokens_read);
  count("llamacpp:prompt_seconds_total", "Time in which they were.", prompt_seconds);
  count("llamacpp:tokens_predicted_total", "Tokens that were generated.", written.Value());
  count("llamacpp:tokens_predicted_seconds_total", "Time in which they were.", writing_seconds);
  count("llamacpp:n_decode_total", "Steps that the batch has made.", static_cast<double>(load.steps));
  show("llamacpp:prompt_tokens_seconds", "Tokens of prompts a second.", rate(tokens_read, prompt_seconds));
  show("llamacpp:predicted_tokens_seconds", "Tokens a second.", rate(written.Value(), writing_seconds));
  show("llamacpp:requests_processing", "Requests that are being decoded.", static_cast<double>(load.running));
  show("llamacpp:requests_deferred", "Requests that wait.", static_cast<double>(load.waiting));
  show("llamacpp:kv_cache_usage_ratio", "Share of the memory for keys and values in use.", cache_use.Value());
  return all.Collect();
}

ServerMetrics::ServerMetrics(const std::string& model, bool llamacpp)
    : families_(std::make_unique<Families>(model, llamacpp)) {
  const BuildInfo& build = build_info();
  families_
      ->gauge("augur:build_info", "The program.",
              {{"version", std::string(build.version)},
               {"commit", std::string(build.commit)},
               {"compiler", std::string(build.compiler)}})
      .Set(1);
}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::add_total(const std::string& name, const std::string& help,
                              std::function<std::int64_t()> total) {
  families_->totals.push_back({name, help, std::move(total)});
}

void ServerMetrics::asked(int choices, std::int64_t max_tokens) {
  families_->asked_choices.Observe(choices);
  if (max_tokens >= 0) families_->asked_tokens.Observe(static_cast<double>(max_tokens));
}

void ServerMetrics::began(double seconds) {
  families_->queued.Observe(seconds);
}

void ServerMetrics::first_token(double seconds, std::int64_t prompt_tokens) {
  families_->first.Observe(seconds);
  families_->read.Increment(static_cast<double>(prompt_tokens));
  families_->written.Increment();
}

void ServerMetrics::next_token(double seconds) {
  families_->between.Observe(seconds);
  families_->written.Increment();
}

void ServerMetrics::accepted_token(int depth) {
  families_->accepted.Increment();
  families_->accepted_at(depth).Increment();
}

void ServerMetrics::drafted(std::int64_t tokens) {
  families_->drafts.Increment();
  families_->drafted.Increment(static_cast<double>(tokens));
}

void ServerMetrics::ended(const Result& result, const Times& times) {
  Families& f = *families_;
  const bool failed = result.finish_reason == FinishReason::Error;
  const bool cancelled = result.finish_reason == FinishReason::Cancelled;
  // As vLLM names them.
  const std::string reason = failed      ? "error"
                             : cancelled ? "abort"
                                         : std::string(to_string(result.finish_reason));
  f.counter("vllm:request_success_total", "Requests that have ended.", {{"finished_reason", reason}})
      .Increment();
  if (failed) return;
  const auto tokens = static_cast<double>(result.tokens.size());
  if (!times.has_token) f.read.Increment(static_cast<double>(result.prompt_tokens));
  f.whole.Observe(times.whole);
  f.prompt_length.Observe(static_cast<double>(result.prompt_tokens));
  f.answer_length.Observe(tokens);
  f.read_tokens += result.prompt_tokens - result.cached_tokens;
  if (times.has_token) {
    f.prompt.Observe(times.prompt);
    f.writing.Observe(times.writing);
    f.at_work.Observe(times.prompt + times.writing);
    if (tokens > 1) f.pace.Observe(times.writing / (tokens - 1));
    f.prompt_seconds += times.prompt;
    f.writing_seconds += times.writing;
  }
  const SpeculationStatistics& s = result.speculation;
  if (s.type == "none" || s.calls == 0) return;
  const Labels drafter = {{"drafter", to_valid_utf8(s.type)}};
  f.counter("augur:draft_seconds_total", "Time of requests that was spent drafting, by drafter.", drafter)
      .Increment(s.draft_ms / 1e3);
  f.counter("augur:verify_seconds_total", "Time of requests in the model's forwards, by drafter.", drafter)
      .Increment(s.verify_ms / 1e3);
  f.histogram("augur:mean_accepted_length", "Tokens a round of a request, by drafter.", kAccepted, drafter)
      .Observe(s.mean_accepted_length);
}

void ServerMetrics::count_refusal(int status) {
  families_
      ->counter("augur:requests_refused_total", "Requests that were answered with an error.",
                {{"status", std::to_string(status)}})
      .Increment();
}

std::string ServerMetrics::text(const SessionLoad& load) {
  Families& f = *families_;
  if (load.page_bytes > 0) {
    f.gauge("vllm:cache_config_info", "Where keys and values are kept: what does not change.",
            {{"block_size", std::to_string(load.page_tokens)},
             {"num_gpu_blocks", std::to_string(load.memory / load.page_bytes)},
             {"enable_prefix_caching", load.keeps_texts ? "True" : "False"}})
        .Set(1);
  }
  f.running.Set(static_cast<double>(load.running));
  f.waiting.Set(static_cast<double>(load.waiting));
  f.cache_use.Set(
      load.memory > 0 ? static_cast<double>(load.memory_running) / static_cast<double>(load.memory) : 0);
  f.running_memory.Set(static_cast<double>(load.memory_running));
  f.memory.Set(static_cast<double>(load.memory));
  f.memory_in_use.Set(static_cast<double>(load.memory_in_use));
  f.kept.Set(static_cast<double>(load.cache_bytes_in_use));
  {
    const std::lock_guard lock(f.mutex);
    ++f.reads;
    f.was_read.notify_all();
  }
  const prometheus::TextSerializer serializer;
  std::string text = serializer.Serialize(f.registry.Collect()) + serializer.Serialize(f.elsewhere(load)) +
                     serializer.Serialize(process_metrics());
  if (f.llamacpp) text += serializer.Serialize(f.as_llamacpp(load));
  return text;
}

bool ServerMetrics::wait_for_reader(double seconds) {
  Families& f = *families_;
  std::unique_lock lock(f.mutex);
  return f.was_read.wait_for(lock, std::chrono::duration<double>(seconds),
                             [&f, before = f.reads] { return f.reads != before; });
}

}  // namespace augur

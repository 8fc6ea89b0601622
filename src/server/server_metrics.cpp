#include "server/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "io/unicode.h"

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
const Histogram::BucketBoundaries kAccepted = {1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 15, 20};

}  // namespace

struct ServerMetrics::Families {
  explicit Families(const std::string& model) : labels{{"model_name", to_valid_utf8(model)}} {}

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

  /// What differs by who asks is in no registry.
  std::vector<prometheus::MetricFamily> lookups(const SessionLoad& load) const {
    prometheus::Registry asked;
    const auto count = [&](const char* name, const char* help, std::int64_t tokens) {
      prometheus::BuildCounter().Name(name).Help(help).Labels(labels).Register(asked).Add({}).Increment(
          static_cast<double>(tokens));
    };
    count("vllm:prefix_cache_queries_total", "Tokens of prompts that were looked up.", load.prompt_tokens);
    count("vllm:prefix_cache_hits_total", "Tokens of prompts that needed not be read again.",
          load.cached_tokens);
    return asked.Collect();
  }

  std::mutex mutex;
  std::condition_variable was_read;
  int reads = 0;

  const Labels labels;
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};

  Gauge& running = gauge("vllm:num_requests_running", "Requests that are being decoded.");
  Gauge& waiting = gauge("vllm:num_requests_waiting", "Requests that wait for a place, or for memory.");
  Gauge& cache_use =
      gauge("vllm:kv_cache_usage_perc", "Share of the memory for keys and values in use, 0 to 1.");
  Counter& read = counter("vllm:prompt_tokens_total", "Tokens of prompts.");
  Counter& written = counter("vllm:generation_tokens_total", "Tokens that were generated.");
  Histogram& first =
      histogram("vllm:time_to_first_token_seconds", "From a request to its first token.", kFirstToken);
  Histogram& between = histogram("vllm:inter_token_latency_seconds", "From one token to the next.", kBetween);
  Histogram& whole = histogram("vllm:e2e_request_latency_seconds", "From a request to its end.", kWhole);
  Counter& drafts = counter("vllm:spec_decode_num_drafts_total", "Rounds of requests that speculate.");
  Counter& drafted = counter("vllm:spec_decode_num_draft_tokens_total", "Tokens that were drafted.");
  Counter& accepted =
      counter("vllm:spec_decode_num_accepted_tokens_total", "Drafted tokens that were accepted.");
  Gauge& memory = gauge("augur:kv_memory_bytes", "Memory that keys and values may take.");
  Gauge& memory_in_use = gauge("augur:kv_memory_in_use_bytes", "Memory that they take.");
  Gauge& kept = gauge("augur:prefix_cache_bytes", "Of these, what texts take that are kept.");
};

ServerMetrics::ServerMetrics(const std::string& model) : families_(std::make_unique<Families>(model)) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::first_token(double seconds) {
  families_->first.Observe(seconds);
}

void ServerMetrics::next_token(double seconds) {
  families_->between.Observe(seconds);
}

void ServerMetrics::ended(const Result& result, double seconds) {
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
  f.whole.Observe(seconds);
  f.read.Increment(static_cast<double>(result.prompt_tokens));
  f.written.Increment(static_cast<double>(result.tokens.size()));
  const SpeculationStatistics& s = result.speculation;
  if (s.type == "none" || s.calls == 0) return;
  f.drafts.Increment(static_cast<double>(s.calls));
  f.drafted.Increment(static_cast<double>(s.drafted_tokens));
  f.accepted.Increment(static_cast<double>(s.accepted_tokens));
  for (std::size_t i = 0; i < s.accepted_per_position.size(); ++i) {
    f.counter("vllm:spec_decode_num_accepted_tokens_per_pos_total",
              "The same by position in the draft, from 0.", {{"position", std::to_string(i)}})
        .Increment(static_cast<double>(s.accepted_per_position[i]));
  }
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
  f.cache_use.Set(load.memory > 0 ? static_cast<double>(load.memory_in_use) / static_cast<double>(load.memory)
                                  : 0);
  f.memory.Set(static_cast<double>(load.memory));
  f.memory_in_use.Set(static_cast<double>(load.memory_in_use));
  f.kept.Set(static_cast<double>(load.cache_bytes_in_use));
  {
    const std::lock_guard lock(f.mutex);
    ++f.reads;
    f.was_read.notify_all();
  }
  const prometheus::TextSerializer serializer;
  return serializer.Serialize(f.registry.Collect()) + serializer.Serialize(f.lookups(load));
}

bool ServerMetrics::wait_for_reader(double seconds) {
  Families& f = *families_;
  std::unique_lock lock(f.mutex);
  return f.was_read.wait_for(lock, std::chrono::duration<double>(seconds),
                             [&f, before = f.reads] { return f.reads != before; });
}

}  // namespace augur

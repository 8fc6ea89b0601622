#include "lab/load/load_test.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"

namespace augur {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

std::int64_t LoadPass::tokens() const {
  std::int64_t sum = 0;
  for (const ServedRequest& r : requests) sum += r.tokens;
  return sum;
}

double LoadPass::tokens_per_second() const {
  return static_cast<double>(tokens()) / seconds;
}

LoadRequest load_request(const TrainingPrompt& prompt, std::int64_t max_tokens, const json& fields) {
  LoadRequest request;
  request.body = {{"max_tokens", max_tokens},
                  {"temperature", 0},
                  {"stream", true},
                  {"stream_options", {{"include_usage", true}}}};
  if (prompt.messages.empty()) {
    request.path = "/v1/completions";
    request.body["prompt"] = prompt.text;
  } else {
    request.path = "/v1/chat/completions";
    for (const Message& message : prompt.messages) {
      request.body["messages"].push_back({{"role", message.role}, {"content", message.content}});
    }
  }
  request.body.update(fields);
  return request;
}

ServedRequest serve_request(const ServerAddress& server, const std::string& api_key,
                            const LoadRequest& request, const std::function<void()>& on_first) {
  ServedRequest served;
  const Clock::time_point begin = Clock::now();
  served.sent = begin;
  double last_ms = 0;
  const auto take_text = [&](const std::string& text) {
    const double now_ms = ms_since(begin);
    if (served.text.empty()) {
      served.first_ms = now_ms;
      if (on_first) on_first();
    } else {
      served.gaps_ms.push_back(now_ms - last_ms);
    }
    last_ms = now_ms;
    served.text += text;
  };
  post_stream(server, request.path, api_key, request.body.dump(), [&](std::string_view data) {
    if (data == "[DONE]") return;
    const json event = json::parse(data);
    if (event.contains("error")) throw Error("{}: {}", request.path, event["error"].dump());
    if (const auto usage = event.find("usage"); usage != event.end() && usage->is_object()) {
      served.tokens = usage->value("completion_tokens", std::int64_t{0});
      served.prompt_tokens = usage->value("prompt_tokens", std::int64_t{0});
    }
    for (const json& choice : event.value("choices", json::array())) {
      const json& from = choice.contains("delta") ? choice["delta"] : choice;
      for (const char* field : {"content", "text"}) {
        const auto text = from.find(field);
        if (text != from.end() && text->is_string() && !text->get_ref<const std::string&>().empty()) {
          take_text(*text);
        }
      }
    }
  });
  served.total_ms = ms_since(begin);
  return served;
}

LoadPass run_load(const ServerAddress& server, const std::string& api_key,
                  std::span<const LoadRequest> requests, int clients, const std::atomic<bool>* cancel) {
  LoadPass pass;
  pass.requests.resize(requests.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto client = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < requests.size();) {
      if (cancel != nullptr && cancel->load()) return;
      try {
        pass.requests[i] = serve_request(server, api_key, requests[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = requests.size();
      }
    }
  };
  const Clock::time_point begin = Clock::now();
  std::vector<std::thread> threads;
  for (int c = 0; c < clients; ++c) threads.emplace_back(client);
  for (std::thread& thread : threads) thread.join();
  pass.seconds = ms_since(begin) / 1000;
  if (failure) std::rethrow_exception(failure);
  return pass;
}

double percentile(std::vector<double> values, double of) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(of * static_cast<double>(values.size())));
  const auto nth =
      values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

}  // namespace augur

#include "server/traces/span_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "base/start_thread.h"
#include "server/traces/otlp_json.h"

namespace augur {
namespace {

constexpr std::chrono::seconds kPause{1};  // between tries
constexpr std::size_t kMostSpans = 2048;   // in a request to the collector

std::size_t bytes_of(const SpanAttributes& attributes) {
  std::size_t bytes = attributes.size() * sizeof(SpanAttribute);
  for (const SpanAttribute& attribute : attributes) {
    if (const auto* text = std::get_if<std::string>(&attribute.second)) bytes += text->size();
  }
  return bytes;
}

std::size_t bytes_of(const Span& span) {
  std::size_t bytes = sizeof(Span) + span.error.size() + span.state.size() + bytes_of(span.attributes);
  for (const SpanEvent& event : span.events) bytes += sizeof(SpanEvent) + bytes_of(event.attributes);
  return bytes;
}

}  // namespace

SpanExporter::SpanExporter(const TraceOptions& options, SpanAttributes resource,
                           std::function<void(const std::string&)> report)
    : options_(options),
      address_(CollectorAddress::parse(options.endpoint)),
      resource_(std::move(resource)),
      report_(std::move(report)),
      thread_(start_thread("augur-spans", [this] { run(); })) {}

SpanExporter::~SpanExporter() {
  constexpr std::chrono::seconds kPatience{1};
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [&] { return ended_; });
    queue_.clear();
  }
  given_up_ = true;
  io_.stop();
  thread_.join();
}

void SpanExporter::take(std::vector<Span> spans) noexcept {
  const auto count = std::ssize(spans);
  try {
    std::size_t bytes = 0;
    for (const Span& span : spans) bytes += bytes_of(span);
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes <= kQueueBytes && !ending_) {
      queue_.push_back({std::move(spans), bytes});
      bytes_ += bytes;
      changed_.notify_all();
      return;
    }
  } catch (...) {  // no memory
  }
  dropped_ += count;
}

void SpanExporter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !queue_.empty() || ending_; });
    if (queue_.empty()) break;
    std::vector<Span> batch;
    try {
      batch = next_batch(lock);
      lock.unlock();
      send(batch);
    } catch (...) {  // no memory
      dropped_ += std::ssize(batch);
    }
    if (!lock.owns_lock()) lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

/// Those that have come, and come within a moment.
std::vector<Span> SpanExporter::next_batch(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kMoment{500};
  changed_.wait_for(lock, kMoment, [&] { return ending_; });
  std::vector<Span> batch;
  while (!queue_.empty() && (batch.empty() || batch.size() + queue_.front().spans.size() <= kMostSpans)) {
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= next.bytes;
    std::move(next.spans.begin(), next.spans.end(), std::back_inserter(batch));
  }
  return batch;
}

void SpanExporter::send(const std::vector<Span>& batch) {
  const std::string body = otlp_json(batch, resource_);
  for (int tried = 1;; ++tried) {
    io_.restart();
    if (given_up_) break;  // or what stops io_ comes from here on
    const CollectorReply reply = send_spans(io_, address_, body);
    if (reply.taken()) {
      sent_ += std::ssize(batch);
      if (std::exchange(failing_, false))
        report_(fmt::format("traces are sent again ({} spans are lost so far)", dropped()));
      return;
    }
    if (!std::exchange(failing_, true)) {
      report_(fmt::format("traces cannot be sent to {}: {}", options_.endpoint, reply.reason()));
    }
    if (!reply.passes() || tried == kTries || !pause()) break;
  }
  dropped_ += std::ssize(batch);
}

/// False: the end has come.
bool SpanExporter::pause() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, kPause, [&] { return ending_; });
}

}  // namespace augur

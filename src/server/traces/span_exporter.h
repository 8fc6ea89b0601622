#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/traces/collector.h"
#include "server/traces/span.h"

namespace augur {

struct TraceOptions {
  std::string endpoint;  ///< CollectorAddress::parse(); empty: there are no traces
  double share = 1;      ///< of requests whose callers do not say, 0 to 1, those that are traced
};

/// Sends spans to a collector, on a thread of its own: nobody waits for it. What finds kQueueBytes waiting,
/// and what a collector does not take (tried kTries times where that may pass), is dropped and counted.
/// Thread-safe.
class SpanExporter {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{16} << 20;  ///< as they are in memory, about
  static constexpr int kTries = 5;

  /// `resource`: what all spans are about. `report` is told when sending fails, and when it succeeds again.
  /// Error for an endpoint that is none.
  SpanExporter(const TraceOptions& options, SpanAttributes resource,
               std::function<void(const std::string&)> report);
  /// Sends what waits, as far as that takes no longer than a second.
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  double share() const { return options_.share; }
  void take(std::vector<Span> spans) noexcept;

  // Spans so far.
  std::int64_t sent() const { return sent_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  struct Waiting {
    std::vector<Span> spans;
    std::size_t bytes = 0;
  };

  void run();
  std::vector<Span> next_batch(std::unique_lock<std::mutex>& lock);
  void send(const std::vector<Span>& batch);
  bool pause();

  const TraceOptions options_;
  const CollectorAddress address_;
  const SpanAttributes resource_;
  const std::function<void(const std::string&)> report_;
  std::atomic<std::int64_t> sent_ = 0;
  std::atomic<std::int64_t> dropped_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  std::size_t bytes_ = 0;  ///< of the queue
  bool ending_ = false;
  bool ended_ = false;

  std::atomic<bool> given_up_ = false;  ///< nothing is sent any more
  bool failing_ = false;                ///< the thread's own: it was told of
  boost::asio::io_context io_{1};
  std::thread thread_;
};

}  // namespace augur

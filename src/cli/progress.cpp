#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/output.h"
#include "cli/tell.h"

namespace augur::cli {
namespace {

constexpr double kQuietMs = 200;   // shorter steps are not worth a line
constexpr double kRefreshMs = 50;  // faster than the eye

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)), enabled_(stderr_is_terminal()) {}

void Progress::update(double fraction, std::string_view detail) {
  if (!enabled_) return;
  const double now = since_start_.ms();
  if (now < kQuietMs || (visible_ && now - last_ms_ < kRefreshMs)) return;
  last_ms_ = now;
  visible_ = true;
  tell("\r{}{}{} {:3.0f}%\x1b[K", what_, detail.empty() ? "" : " ", detail,
       100 * std::clamp(fraction, 0.0, 1.0));
  std::fflush(stderr);
}

void Progress::done() {
  if (!visible_) return;
  visible_ = false;
  tell("\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace augur::cli

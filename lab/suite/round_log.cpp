#include "lab/suite/round_log.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/suite/forecasts.h"

namespace augur {

RoundLog::RoundLog(const std::string& file, bool append) : file_(file) {
  if (file_.empty()) return;
  out_.open(file_, append ? std::ios::app : std::ios::trunc);
  if (!out_) throw Error("{}: cannot be written", file_);
}

void RoundLog::begin(const std::string& suite, int prompt, const std::string& method) {
  run_ = nlohmann::json({{"suite", suite}, {"prompt", prompt}, {"variant", method}}).dump();
  run_.pop_back();
  round_ = 0;
}

void RoundLog::write(const StepTrace& trace) {
  if (!out_.is_open()) return;
  const StepForecast& f = trace.forecast;
  out_ << run_
       << fmt::format(
              R"(,"round":{},"mode":"{}","context":{},"drafted":{},"rows":{},"tokens":{},"draft_ms":{:.4f},)"
              R"("verify_ms":{:.4f},"other_ms":{:.4f},"forecast_tokens":{:.4f},"forecast_ms":{:.4f},)"
              R"("price":{:.6f},"plain_ms":{:.4f}}})"
              "\n",
              round_++, name(f.mode), trace.context, trace.drafted, trace.tree->size(), trace.path.size(),
              trace.draft_ms, trace.verify_ms, trace.other_ms, f.tokens, f.ms, f.price, f.plain_ms);
}

void RoundLog::finish() {
  if (!out_.is_open()) return;
  out_.close();
  if (!out_) throw Error("{}: writing failed", file_);
}

}  // namespace augur

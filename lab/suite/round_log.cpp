#include "lab/suite/round_log.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "files/json_reader.h"
#include "lab/suite/forecasts.h"

namespace augur {
namespace {

template <class T>
T field(const nlohmann::json& line, const char* key, const std::string& where) {
  const auto found = line.find(key);
  const bool of_its_kind = found != line.end() && (std::is_same_v<T, std::string> ? found->is_string()
                                                   : std::is_integral_v<T>        ? found->is_number_integer()
                                                                                  : found->is_number());
  if (!of_its_kind) throw Error("{}: not what --log writes: {}: missing, or of another kind", where, key);
  return found->get<T>();
}

LoggedRound logged_round(const std::string& text, const std::string& where) {
  const nlohmann::json line = parse_json(text, where);
  if (!line.is_object()) throw Error("{}: not what --log writes: expected an object", where);
  LoggedRound round{.suite = field<std::string>(line, "suite", where),
                    .prompt = field<int>(line, "prompt", where),
                    .variant = field<std::string>(line, "variant", where),
                    .round = field<int>(line, "round", where),
                    .mode = field<std::string>(line, "mode", where),
                    .drafted = field<int>(line, "drafted", where),
                    .rows = field<int>(line, "rows", where),
                    .tokens = field<int>(line, "tokens", where),
                    .draft_ms = field<double>(line, "draft_ms", where),
                    .verify_ms = field<double>(line, "verify_ms", where),
                    .other_ms = field<double>(line, "other_ms", where)};
  if (round.draft_ms < 0 || round.verify_ms < 0 || round.other_ms < 0 || round.ms() <= 0) {
    throw Error("{}: not what --log writes: expected milliseconds above 0", where);
  }
  return round;
}

}  // namespace

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
              R"("price":{:.6f},"plain_ms":{:.4f},"choice":{}}})"
              "\n",
              round_++, name(f.mode), trace.context, trace.drafted, trace.tree->size(), trace.path.size(),
              trace.draft_ms, trace.verify_ms, trace.other_ms, f.tokens, f.ms, f.price, f.plain_ms,
              nlohmann::json(f.choice).dump());
}

void RoundLog::finish() {
  if (!out_.is_open()) return;
  out_.close();
  if (!out_) throw Error("{}: writing failed", file_);
}

std::vector<LoggedRound> read_round_log(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw Error("{}: can't be read", file.string());
  std::vector<LoggedRound> rounds;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    rounds.push_back(logged_round(line, fmt::format("{} line {}", file.string(), number)));
  }
  if (in.bad()) throw Error("{}: reading failed", file.string());
  if (rounds.empty())
    throw Error("{}: no rounds: expected what 'augur bench suite --log' writes", file.string());
  return rounds;
}

}  // namespace augur

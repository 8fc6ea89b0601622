#include "lab/train/learning_curve.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/atomic_file.h"
#include "base/error.h"

namespace augur {

namespace {
constexpr const char* kTitles = "tokens\theld_out_loss\tchain_length\tagreement_by_depth\n";

/// As the file holds it: a resumed run, which reads it, goes on with the same number.
double rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}
}  // namespace

LearningCurve::LearningCurve(std::filesystem::path file, std::int64_t tokens) : file_(std::move(file)) {
  if (tokens == 0) return;
  std::ifstream in(file_);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (number == 1) continue;
    std::istringstream fields(line);
    Point point;
    if (!(fields >> point.tokens >> point.loss >> point.chain_length)) {
      throw Error("{}: line {}: expected tokens, loss and chain length", file_.string(), number);
    }
    for (double value; fields >> value;) point.agreement.push_back(value);
    if (point.tokens <= tokens) points_.push_back(std::move(point));
  }
}

void LearningCurve::add(std::int64_t tokens, const Grade& held_out) {
  Point point{tokens, rounded(held_out.mean_loss()), rounded(held_out.chain_length()), {}};
  for (std::size_t i = 0; i < held_out.hits.size(); ++i)
    point.agreement.push_back(rounded(held_out.agreement(i)));
  if (!points_.empty() && points_.back().tokens == tokens) points_.pop_back();
  points_.push_back(std::move(point));
  std::string text = kTitles;
  for (const Point& p : points_) {
    text += fmt::format("{}\t{:.6g}\t{:.6g}\t", p.tokens, p.loss, p.chain_length);
    for (std::size_t i = 0; i < p.agreement.size(); ++i)
      text += fmt::format("{}{:.6g}", i == 0 ? "" : " ", p.agreement[i]);
    text += '\n';
  }
  AtomicFile out(file_);
  out.write(text);
  out.commit();
}

}  // namespace augur

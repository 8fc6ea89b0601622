#include "lab/suite/priced_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "lab/bench/machine_probe.h"

namespace augur {
namespace {

constexpr int kStretch = 8;  // consecutive rounds that the machine is taken to be equally fast in
constexpr int kPasses = 100;
constexpr double kHuber = 0.05;      // of the logarithm: what is further off counts by its sign alone
constexpr double kShortestMs = 0.3;  // what takes less tells little about the machine

enum class Part { Verify, Draft, Other };

/// Part, variant (empty where it does not matter), suite, prompt; rows or candidates, or whether there were
/// some.
using Kind = std::tuple<Part, std::string, std::string, int, int>;

/// A part of a round that took time.
struct Sample {
  std::size_t round;
  std::size_t kind;
  std::size_t stretch;
  double log_ms;
};

struct Samples {
  std::vector<Sample> all;
  std::size_t kinds = 0;
  std::size_t stretches = 0;
};

bool same_text(const LoggedRound& a, const LoggedRound& b) {
  return a.variant == b.variant && a.suite == b.suite && a.prompt == b.prompt;
}

Samples samples_of(std::span<const LoggedRound> rounds) {
  Samples samples;
  std::map<Kind, std::size_t> kinds;
  int inside = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const LoggedRound& r = rounds[i];
    const bool goes_on = i > 0 && same_text(r, rounds[i - 1]) && r.round > rounds[i - 1].round;
    if (!goes_on || inside == kStretch) {
      samples.stretches += 1;
      inside = 0;
    }
    inside += 1;
    const auto add = [&](Kind kind, double ms) {
      if (ms <= 0) return;
      const std::size_t known = kinds.emplace(std::move(kind), kinds.size()).first->second;
      samples.all.push_back({i, known, samples.stretches - 1, std::log(ms)});
    };
    add({Part::Verify, "", r.suite, r.prompt, r.rows}, r.verify_ms);
    add({Part::Draft, r.variant, r.suite, r.prompt, r.drafted}, r.draft_ms);
    add({Part::Other, r.variant, r.suite, r.prompt, r.drafted > 0 ? 1 : 0}, r.other_ms);
  }
  samples.kinds = kinds.size();
  return samples;
}

/// One step from `center` towards the centre of the values by Huber's loss, for each of many centres at once.
class CenterStep {
 public:
  explicit CenterStep(std::vector<double>& centers)
      : centers_(centers), weighted_(centers.size()), weights_(centers.size()) {}

  void add(std::size_t which, double value) {
    const double weight = std::min(1.0, kHuber / std::max(std::abs(value - centers_[which]), 1e-12));
    weighted_[which] += weight * value;
    weights_[which] += weight;
  }
  /// Those that no value was added to stay.
  void apply() {
    for (std::size_t i = 0; i < centers_.size(); ++i) {
      if (weights_[i] > 0) centers_[i] = weighted_[i] / weights_[i];
    }
  }

 private:
  std::vector<double>& centers_;
  std::vector<double> weighted_;
  std::vector<double> weights_;
};

/// Medians of what each kind took, where the fit begins.
std::vector<double> first_prices(const Samples& samples) {
  std::vector<std::vector<double>> seen(samples.kinds);
  for (const Sample& s : samples.all) seen[s.kind].push_back(s.log_ms);
  std::vector<double> prices;
  for (std::vector<double>& logs : seen) prices.push_back(median(std::move(logs)));
  return prices;
}

/// What a variant did with a prompt.
struct TextSum {
  double tokens = 0;
  double priced_ms = 0;
  double measured_ms = 0;
};

struct Rates {
  double priced = 0;
  double measured = 0;
};

using Texts = std::map<int, TextSum>;  ///< by prompt

Rates rates_of(const Texts& texts) {
  Rates rates;
  for (const auto& [prompt, text] : texts) {
    rates.priced += 1000 * text.tokens / text.priced_ms / static_cast<double>(texts.size());
    rates.measured += 1000 * text.tokens / text.measured_ms / static_cast<double>(texts.size());
  }
  return rates;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

std::vector<double> priced_ms(std::span<const LoggedRound> rounds) {
  const Samples samples = samples_of(rounds);
  std::vector<double> prices = first_prices(samples);
  std::vector<double> slowness(samples.stretches, 0.0);
  const double shortest = std::log(kShortestMs);
  std::vector<bool> timed(samples.stretches, false);
  for (const Sample& s : samples.all) timed[s.stretch] = timed[s.stretch] || s.log_ms > shortest;
  for (int pass = 0; pass < kPasses; ++pass) {  // the loss is convex: taking turns leads to its only minimum
    CenterStep machine(slowness);
    for (const Sample& s : samples.all) {
      if (s.log_ms > shortest) machine.add(s.stretch, s.log_ms - prices[s.kind]);
    }
    machine.apply();
    CenterStep kinds(prices);
    for (const Sample& s : samples.all) kinds.add(s.kind, s.log_ms - slowness[s.stretch]);
    kinds.apply();
  }
  std::vector<double> known;
  for (std::size_t i = 0; i < slowness.size(); ++i) {
    if (timed[i]) known.push_back(slowness[i]);
  }
  const double usual = known.empty() ? 0.0 : median(std::move(known));
  std::vector<double> ms(rounds.size(), 0.0);
  for (const Sample& s : samples.all) ms[s.round] += std::exp(prices[s.kind] + usual);
  return ms;
}

std::string priced_tables(std::span<const LoggedRound> rounds) {
  const std::vector<double> priced = priced_ms(rounds);
  std::set<std::string> steered;
  std::vector<std::string> suites;  // in the order of the file
  std::vector<std::string> variants;
  std::map<std::pair<std::string, std::string>, Texts> texts;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const LoggedRound& r = rounds[i];
    if (r.mode != "fixed") steered.insert(r.variant);
    add_once(suites, r.suite);
    add_once(variants, r.variant);
    TextSum& text = texts[{r.suite, r.variant}][r.prompt];
    text.tokens += r.tokens;
    text.priced_ms += priced[i];
    text.measured_ms += r.ms();
  }
  std::string tables;
  for (const std::string& suite : suites) {
    std::vector<std::pair<std::string, Rates>> rows;
    Rates best;
    for (const std::string& variant : variants) {
      const auto found = texts.find({suite, variant});
      if (found == texts.end()) continue;
      const Rates& rates = rows.emplace_back(variant, rates_of(found->second)).second;
      if (steered.contains(variant)) continue;
      best.priced = std::max(best.priced, rates.priced);
      best.measured = std::max(best.measured, rates.measured);
    }
    const auto share = [](double rate, double of) {
      return of > 0 ? fmt::format("{:.3f} of the best fixed", rate / of) : std::string("none is fixed");
    };
    tables += suite + "\n";
    for (const auto& [variant, rates] : rows) {
      tables +=
          fmt::format("  {:<34} {:7.1f} tokens/s, {}; measured {:7.1f}, {}\n", variant, rates.priced,
                      share(rates.priced, best.priced), rates.measured, share(rates.measured, best.measured));
    }
  }
  return tables;
}

}  // namespace augur

#include "lab/suite/analysis.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/bench/decode_bench.h"
#include "lab/suite/document.h"
#include "lab/suite/keys.h"
#include "lab/suite/round_watch.h"

namespace augur {

using nlohmann::ordered_json;

ordered_json watch_rounds(Workbench& bench, const Method& method, const SuitePrompt& prompt,
                          const SuiteRequest& how, int entropy_top_k, const std::atomic<bool>* cancel) {
  RoundWatch watch(entropy_top_k);
  SuiteRequest first_turn = how;
  first_turn.turns = 1;
  Result result;
  std::vector<TokenId> text;
  bench.forget(method);
  bench.run(
      method, prompt, first_turn, cancel, [&](const Result& r) { result = r; }, {},
      [&](SequenceOptions& options) { watch.attach(options); });
  if (result.finish_reason == FinishReason::Cancelled || result.finish_reason == FinishReason::None)
    return {};
  // Positions are those of the whole text; what stands before the answer is never looked at.
  text.assign(static_cast<std::size_t>(result.prompt_tokens), -1);
  text.insert(text.end(), result.tokens.begin(), result.tokens.end());
  const std::vector<HeteroPair> pairs = watch.hetero_pairs(std::move(text));
  ordered_json rounds = ordered_json::array();
  for (std::size_t i = 0; i < watch.rounds().size(); ++i) {
    const WatchedRound& round = watch.rounds()[i];
    const HeteroPair pair = i < pairs.size() ? pairs[i] : HeteroPair{};
    const bool has_phi = pair.known && pair.levels > 0 && pair.entropy > 0;
    rounds.push_back({has_phi ? ordered_json(std::round(1000 * pair.entropy) / 1000) : ordered_json(nullptr),
                      pair.rank, pair.known ? 1 : 0, pair.fully_accepted ? 1 : 0, round.accepted,
                      round.verified});
  }
  return {{"rounds", rounds}};
}

/// Rows against distinct experts of a layer, as the engine that has seen texts has learned; null: a dense
/// model.
ordered_json experts_of(Workbench& bench, const std::vector<Method>& methods) {
  MeasuredCosts::Experts experts = EngineAccess::known_costs(bench.base()).experts;
  for (const Method& method : methods) {
    if (experts.expected != experts.even) break;
    experts = EngineAccess::known_costs(bench.engine(method)).experts;
  }
  if (experts.count == 0) return nullptr;
  ordered_json points = ordered_json::array();
  for (std::size_t i = 0; i < experts.rows.size(); ++i) {
    points.push_back({experts.rows[i], experts.expected[i], experts.even[i]});
  }
  return {{"count", experts.count},
          {"active", experts.active},
          {"layers", experts.layers},
          {"ms", experts.ms},
          {"distinct", points}};
}

ordered_json measure_costs(Workbench& bench, const std::vector<Method>& methods) {
  DecodeBenchOptions options;
  options.rows = {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64};
  options.repetitions = 7;
  options.context = std::min<std::int64_t>(options.context, bench.info().context - options.rows.back());
  ordered_json costs = ordered_json::object();
  if (options.context >= 0) {
    const DecodeBenchResult measured = run_decode_bench(EngineAccess::model(bench.base()), options);
    costs["context"] = measured.context;
    costs["read_gb_per_s"] = measured.read_gb_per_s;
    costs["memory_limit_ms"] = measured.memory_limit_ms;
    costs["verify"] = ordered_json::array();
    for (const DecodeBenchRow& row : measured.rows) costs["verify"].push_back({row.rows, row.ms});
  }
  costs["experts"] = experts_of(bench, methods);
  costs["drafters"] = ordered_json::array();
  std::set<const Engine*> seen;
  for (const Method& method : methods) {
    const Engine& engine = bench.engine(method);
    if (!seen.insert(&engine).second) continue;
    for (const MeasuredCosts::Draft& drafter : EngineAccess::known_costs(engine).drafters) {
      ordered_json levels = ordered_json::array();
      for (std::size_t k = 0; k < drafter.level.rows.size(); ++k) {
        levels.push_back({drafter.level.rows[k], drafter.level.ms[k]});
      }
      costs["drafters"].push_back({{"name", drafter.name},
                                   {"model", method.draft_model},
                                   {"root_ms", drafter.first_level.ms.front()},
                                   {"levels", levels}});
    }
  }
  return costs;
}

void analyse(Workbench& bench, const std::vector<PromptSet>& sets, const std::vector<Method>& methods,
             const AnalysisOptions& options, StateFile& state, const std::function<void(double)>& progress) {
  const auto keep = [&](const std::string& name, const std::function<ordered_json()>& make) {
    if ((options.cancel != nullptr && options.cancel->load()) || state.document(name) != nullptr) return;
    if (const ordered_json document = make(); !document.is_null()) state.put(name, document);
  };
  const std::vector<std::string> keys = method_keys(methods, options.default_draft_model);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const std::vector<SuitePrompt>& prompts = sets[s].prompts;
    const auto watched = std::min(prompts.size(), static_cast<std::size_t>(options.prompts));
    const bool sampled = s < static_cast<std::size_t>(options.samples);
    for (std::size_t i = 0; i < std::max<std::size_t>(watched, sampled ? 1 : 0); ++i) {
      if (progress)
        progress((static_cast<double>(s) + static_cast<double>(i) / static_cast<double>(watched + 1)) /
                 static_cast<double>(sets.size()));
      for (std::size_t m = 0; m < methods.size(); ++m) {
        const Method& method = methods[m];
        if (method.peer()) continue;
        const CellKey key{prompt_key(sets[s].name, prompts[i]), keys[m]};
        if (i < watched && !method.plain()) {
          keep(rounds_document(key), [&] {
            return watch_rounds(bench, method, prompts[i], options.request, options.entropy_top_k,
                                options.cancel);
          });
        }
        if (i == 0 && sampled) {
          keep(text_document(key),
               [&] { return watch_text(bench, method, prompts[i], options.request, options.cancel); });
        }
      }
    }
  }
  keep(kCostsDocument, [&] { return measure_costs(bench, methods); });
}

}  // namespace augur

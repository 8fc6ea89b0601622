#include "suite/document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const SuiteRequest& request) {
  const SamplingOptions& s = request.sampling;
  return {{"max_tokens", request.max_tokens},
          {"chat", request.chat},
          {"system", request.system},
          {"ignore_eos", request.ignore_eos},
          {"turns", request.turns},
          {"temperature", s.temperature},
          {"top_k", s.top_k},
          {"top_p", s.top_p},
          {"min_p", s.min_p},
          {"repetition_penalty", s.repetition_penalty},
          {"seed", s.seed}};
}

std::string model_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

ordered_json method_json(const Method& method) {
  return {{"label", method.label},
          {"text", method.text},
          {"types", method.speculation.types},
          {"policy", method.speculation.policy},
          {"draft_model", model_name(method.draft_model)},
          {"peer", method.peer()}};
}

ordered_json rows_of(const std::vector<MethodFigures>& figures) {
  ordered_json rows = ordered_json::array();
  for (const MethodFigures& f : figures) rows.push_back(augur::to_json(f));
  return rows;
}

/// The documents of one kind that the state holds, by method.
ordered_json analyses(const std::vector<PromptSet>& sets, const std::vector<std::string>& keys,
                      const StateFile& state) {
  ordered_json by_method = ordered_json::array();
  for (std::size_t m = 0; m < keys.size(); ++m) {
    ordered_json points = ordered_json::array();
    for (std::size_t s = 0; s < sets.size(); ++s) {
      for (const SuitePrompt& prompt : sets[s].prompts) {
        const auto* rounds = state.document(rounds_document({prompt_key(sets[s].name, prompt), keys[m], 0}));
        if (rounds == nullptr) continue;
        for (const ordered_json& round : (*rounds)["rounds"]) {
          ordered_json point = {s};
          point.insert(point.end(), round.begin(), round.end());
          points.push_back(std::move(point));
        }
      }
    }
    if (!points.empty()) by_method.push_back({{"method", m}, {"rounds", points}});
  }
  return by_method;
}

ordered_json samples(const std::vector<PromptSet>& sets, const std::vector<std::string>& keys,
                     const StateFile& state) {
  ordered_json found = ordered_json::array();
  for (const PromptSet& set : sets) {
    for (const SuitePrompt& prompt : set.prompts) {
      ordered_json by_method = ordered_json::array();
      for (std::size_t m = 0; m < keys.size(); ++m) {
        const auto* text = state.document(text_document({prompt_key(set.name, prompt), keys[m], 0}));
        if (text == nullptr) continue;
        ordered_json entry = {{"method", m}};
        entry.update(*text);
        by_method.push_back(std::move(entry));
      }
      if (by_method.empty()) continue;
      found.push_back(
          {{"suite", set.name}, {"id", prompt.id}, {"prompt", prompt.turns.front()}, {"methods", by_method}});
    }
  }
  return found;
}

std::string row_text(const ordered_json& method, const ordered_json& f, bool first) {
  const auto calls = std::max(f["calls"].get<double>(), 1.0);
  const auto per_call = [&](const char* key) { return f[key].get<double>() / calls; };
  std::string line = fmt::format("  {:<36} {:7.1f} {:6.2f}x {:6.2f} {:8} {:9}  {:5.2f} {:6.2f} {:5.2f}",
                                 method["label"].get<std::string>(), f["tokens_per_second"].get<double>(),
                                 f["speedup"].get<double>(), f["tau"].get<double>(),
                                 f["calls"].get<std::int64_t>(), f["verified_tokens"].get<std::int64_t>(),
                                 per_call("draft_ms"), per_call("verify_ms"), per_call("other_ms"));
  if (first) return line;
  const ordered_json& rounds = f["speedup_by_round"];
  if (rounds[2].get<double>() > rounds[0].get<double>()) {
    line += fmt::format("  {:.2f}-{:.2f}", rounds[0].get<double>(), rounds[2].get<double>());
  }
  if (method["peer"].get<bool>()) return line + "  another engine";
  const int different = f["different"];
  return line + (different == 0 ? "  same tokens" : fmt::format("  {} DIFFER", different));
}

std::string table(const std::string& title, const ordered_json& methods, const ordered_json& rows) {
  std::string text = fmt::format("{}\n  {:<36} {:>7} {:>7} {:>6} {:>8} {:>9}  {}\n", title, "", "tok/s",
                                 "speedup", "tau", "calls", "verified", "ms a call: draft, verify, other");
  for (std::size_t m = 0; m < rows.size(); ++m) {
    text += row_text(methods[m], rows[m], m == 0) + "\n";
  }
  return text;
}

}  // namespace

ordered_json state_header(const ModelInfo& model, const std::string& fingerprint,
                          const SuiteRequest& request) {
  ordered_json header = {{"augur_suite", 1},        {"model", fingerprint}, {"weights", model.weights},
                         {"cpu", cpu_model_name()}, {"isa", model.isa},     {"threads", model.threads}};
  header.update(to_json(request));
  return header;
}

std::string rounds_document(const CellKey& key) {
  return "rounds " + key.prompt + " " + key.method;
}
std::string text_document(const CellKey& key) {
  return "text " + key.prompt + " " + key.method;
}

ordered_json suite_document(const SuiteFacts& facts, const ModelInfo& model,
                            const std::vector<PromptSet>& sets, const std::vector<Method>& methods,
                            const SuiteRunReport& run, const StateFile& state) {
  std::vector<std::string> keys;
  ordered_json method_rows = ordered_json::array();
  for (const Method& method : methods) {
    keys.push_back(method_key(method, facts.default_draft_model));
    method_rows.push_back(method_json(method));
  }
  std::vector<SuiteFigures> figures;
  ordered_json suites = ordered_json::array();
  for (const PromptSet& set : sets) {
    figures.push_back(suite_figures(set, keys, facts.rounds, state));
    const SuiteFigures& f = figures.back();
    ordered_json categories = ordered_json::array();
    for (PromptSet& category : by_category(set)) {
      // Cells are filed under the suite's name.
      const std::string label = std::exchange(category.name, set.name);
      const SuiteFigures of_category = suite_figures(category, keys, facts.rounds, state);
      if (of_category.prompts == 0) continue;
      categories.push_back(
          {{"name", label}, {"prompts", of_category.prompts}, {"methods", rows_of(of_category.methods)}});
    }
    suites.push_back({{"name", f.suite},
                      {"prompts", f.prompts},
                      {"planned", f.planned},
                      {"methods", f.prompts > 0 ? rows_of(f.methods) : ordered_json::array()},
                      {"categories", categories}});
  }
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const ordered_json* costs = state.document(kCostsDocument);
  return {{"augur_suite", 1},
          {"made", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"command", facts.command},
          {"machine", {{"cpu", cpu_model_name()}, {"isa", model.isa}, {"threads", model.threads}}},
          {"model",
           {{"name", model_name(model.path)},
            {"family", model.family},
            {"weights", model.weights},
            {"weight_bytes", model.weight_bytes},
            {"vocab", model.vocab}}},
          {"settings", to_json(facts.request)},
          {"rounds", facts.rounds},
          {"complete", run.complete()},
          {"cells", {{"done", run.done}, {"planned", run.planned}}},
          {"harness_share", run.overhead()},
          {"methods", method_rows},
          {"overall", rows_of(overall_figures(figures))},
          {"suites", suites},
          {"costs", costs == nullptr ? ordered_json() : *costs},
          {"analyses", analyses(sets, keys, state)},
          {"samples", samples(sets, keys, state)}};
}

bool outputs_differ(const ordered_json& document) {
  return std::any_of(document["overall"].begin(), document["overall"].end(),
                     [](const ordered_json& row) { return row["different"] != 0; });
}

std::string suite_tables(const ordered_json& document) {
  std::string text;
  for (const ordered_json& suite : document["suites"]) {
    if (suite["methods"].empty()) continue;
    text += table(fmt::format("{}: {} of {} prompts", suite["name"].get<std::string>(),
                              suite["prompts"].get<int>(), suite["planned"].get<int>()),
                  document["methods"], suite["methods"]) +
            "\n";
  }
  if (!document["overall"].empty()) {
    text += table("all suites (means; counts are sums)", document["methods"], document["overall"]);
  }
  return text;
}

}  // namespace augur

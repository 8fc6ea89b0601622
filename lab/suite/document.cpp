#include "lab/suite/document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "lab/suite/cell_table.h"
#include "lab/suite/content_hash.h"
#include "lab/suite/figures.h"
#include "lab/suite/keys.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What the requests are. What is seldom set stands only where it is, so that files of runs without it go on.
ordered_json to_json(const SuiteRequest& request) {
  const SamplingOptions& s = request.sampling;
  ordered_json settings = {{"max_tokens", request.max_tokens},
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
  if (!request.stop.empty()) settings["stop"] = request.stop;
  if (s.presence_penalty != 0) settings["presence_penalty"] = s.presence_penalty;
  if (s.frequency_penalty != 0) settings["frequency_penalty"] = s.frequency_penalty;
  if (s.penalty_window != SamplingOptions().penalty_window) settings["penalty_window"] = s.penalty_window;
  if (!s.logit_bias.empty()) settings["logit_bias"] = s.logit_bias;
  if (request.budget > 0) settings["budget"] = request.budget;
  return settings;
}

std::string model_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

ordered_json method_json(const Method& method) {
  return {{"label", method.label},
          {"text", method.text},
          {"types", method.speculation.drafters},
          {"policy", method.speculation.policy.name},
          {"draft_model", model_name(method.draft_model)},
          {"peer", method.peer()}};
}

ordered_json rows_of(const std::vector<MethodFigures>& figures) {
  ordered_json rows = ordered_json::array();
  for (const MethodFigures& f : figures) rows.push_back(augur::to_json(f));
  return rows;
}

/// The watched rounds that the state holds, by method.
ordered_json analyses(const std::vector<PromptSet>& sets, const std::vector<std::string>& keys,
                      const StateFile& state) {
  ordered_json by_method = ordered_json::array();
  for (std::size_t m = 0; m < keys.size(); ++m) {
    ordered_json points = ordered_json::array();
    for (std::size_t s = 0; s < sets.size(); ++s) {
      for (const SuitePrompt& prompt : sets[s].prompts) {
        const auto* rounds = state.document(rounds_document({prompt_key(sets[s].name, prompt), keys[m]}));
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
        const auto* text = state.document(text_document({prompt_key(set.name, prompt), keys[m]}));
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

}  // namespace

ordered_json state_header(const ModelInfo& model, const std::string& fingerprint, const EngineOptions& engine,
                          const SuiteRequest& request) {
  ContentHashes contents;
  ordered_json header = {{"augur_suite", 1},         {"program", program_identity()},
                         {"model", fingerprint},     {"files", hex(contents.of(engine.model))},
                         {"weights", model.weights}, {"cpu", cpu_model_name()},
                         {"isa", model.isa},         {"threads", model.threads}};
  if (!engine.datastore.empty()) header["datastore"] = hex(contents.of(engine.datastore));
  for (const EngineOptions::NamedDraftModel& draft : engine.draft_models) {
    header["draft_models"][draft.name] = hex(contents.of(draft.path));
  }
  if (engine.kv != KvFormat::Auto) header["kv"] = to_string(engine.kv);
  if (engine.draft_weights != DraftWeightFormat::Auto)
    header["draft_weights"] = to_string(engine.draft_weights);
  const std::string& vocabulary = engine.speculation.draft_vocabulary;
  if (!vocabulary.empty()) header["vocab"] = vocabulary;
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
  const std::vector<std::string> keys = method_keys(methods, facts.default_draft_model);
  ordered_json method_rows = ordered_json::array();
  for (const Method& method : methods) method_rows.push_back(method_json(method));
  std::vector<SuiteFigures> figures;
  ordered_json suites = ordered_json::array();
  for (const PromptSet& set : sets) {
    figures.push_back(suite_figures(set, keys, facts.rounds, state, facts.seeds));
    ordered_json categories = ordered_json::array();
    for (const auto& [name, prompts] : by_category(set)) {
      const SuiteFigures f = suite_figures(prompts, keys, facts.rounds, state, facts.seeds);
      if (f.prompts > 0) {
        categories.push_back({{"name", name}, {"prompts", f.prompts}, {"methods", rows_of(f.methods)}});
      }
    }
    const SuiteFigures& f = figures.back();
    suites.push_back({{"name", f.suite},
                      {"prompts", f.prompts},
                      {"planned", f.planned},
                      {"methods", rows_of(f.methods)},
                      {"categories", categories},
                      {"cells", cell_rows(set, methods, keys, facts.rounds, facts.seeds, state)}});
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
          {"seeds", facts.seeds},
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

}  // namespace augur

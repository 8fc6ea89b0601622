#include "lab/suite/document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "io/mapped_file.h"

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

/// A field of an object of a suite's document, of the kind that `is` tells.
const ordered_json& field(const ordered_json& object, const char* key,
                          bool (ordered_json::*is)() const noexcept, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !((*found).*is)()) {
    throw Error("{}: not what 'augur bench suite --json' writes: {}: missing, or of another kind", where,
                key);
  }
  return *found;
}

void check_rows(const ordered_json& rows, std::size_t methods, const std::string& where) {
  if (!rows.empty() && rows.size() != methods) {
    throw Error("{}: expected a row for each of {} methods, found {}", where, methods, rows.size());
  }
  for (const ordered_json& row : rows) {
    for (const char* key : {"tokens_per_second", "speedup", "tau", "calls", "verified_tokens", "draft_ms",
                            "verify_ms", "other_ms", "different"}) {
      field(row, key, &ordered_json::is_number, where);
    }
    for (const char* key : {"speedup_by_round", "speedup_by_prompt"}) {
      const ordered_json& spread = field(row, key, &ordered_json::is_array, where);
      if (spread.size() != 3 ||
          !std::all_of(spread.begin(), spread.end(), [](const ordered_json& x) { return x.is_number(); })) {
        throw Error("{}: {}: expected three numbers", where, key);
      }
    }
  }
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

ordered_json read_suite_document(const std::string& path) {
  const MappedFile file(path);
  ordered_json document =
      ordered_json::parse(file.bytes().begin(), file.bytes().end(), nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("augur_suite", ordered_json()) != 1) {
    throw Error("{}: not a file that 'augur bench suite --json' wrote", path);
  }
  const ordered_json& methods = field(document, "methods", &ordered_json::is_array, path);
  for (const ordered_json& method : methods) {
    for (const char* key : {"label", "text"})
      field(method, key, &ordered_json::is_string, path + ": methods");
    field(method, "peer", &ordered_json::is_boolean, path + ": methods");
  }
  check_rows(field(document, "overall", &ordered_json::is_array, path), methods.size(), path + ": overall");
  for (const ordered_json& suite : field(document, "suites", &ordered_json::is_array, path)) {
    const std::string where = path + ": suites";
    field(suite, "name", &ordered_json::is_string, where);
    check_rows(field(suite, "methods", &ordered_json::is_array, where), methods.size(), where);
  }
  field(document, "rounds", &ordered_json::is_number, path);
  const ordered_json& settings = field(document, "settings", &ordered_json::is_object, path);
  for (const char* key : {"temperature", "max_tokens"}) {
    field(settings, key, &ordered_json::is_number, path + ": settings");
  }
  const ordered_json& machine = field(document, "machine", &ordered_json::is_object, path);
  field(machine, "cpu", &ordered_json::is_string, path + ": machine");
  field(machine, "threads", &ordered_json::is_number, path + ": machine");
  const ordered_json& model = field(document, "model", &ordered_json::is_object, path);
  for (const char* key : {"name", "weights"}) field(model, key, &ordered_json::is_string, path + ": model");
  return document;
}

bool outputs_differ(const ordered_json& document) {
  return std::any_of(document["overall"].begin(), document["overall"].end(),
                     [](const ordered_json& row) { return row["different"] != 0; });
}

}  // namespace augur

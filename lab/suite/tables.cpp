#include "lab/suite/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace augur {
namespace {

using nlohmann::ordered_json;

/// "1.32-1.45"; empty where the document has no such interval.
std::string interval_text(const ordered_json& f, const char* key) {
  const ordered_json interval = f.value(key, ordered_json());
  if (!interval.is_array()) return {};
  return fmt::format("{:.2f}-{:.2f}", interval[0].get<double>(), interval[1].get<double>());
}

std::string row_text(const ordered_json& method, const ordered_json& f, bool first) {
  const auto calls = std::max(f["calls"].get<double>(), 1.0);
  const auto per_call = [&](const char* key) { return f[key].get<double>() / calls; };
  std::string line =
      fmt::format("  {:<36} {:7.1f} {:6.2f}x {:>10} {:6.2f} {:>10} {:8} {:9}  {:5.2f} {:6.2f} {:5.2f}",
                  method["label"].get<std::string>(), f["tokens_per_second"].get<double>(),
                  f["speedup"].get<double>(), first ? "" : interval_text(f, "speedup_interval"),
                  f["tau"].get<double>(), first ? "" : interval_text(f, "tau_interval"),
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

/// What a row has no room for.
std::string details_of(const ordered_json& f, bool first) {
  const double calls = std::max(f["calls"].get<double>(), 1.0);
  std::string text;
  if (!first) {
    text += fmt::format("    {:.2f}x with the prompt's time; {:.3f} of every prompt's best",
                        f["speedup_with_prompt"].get<double>(), f["share_of_best"].get<double>());
    const ordered_json& depths = f["accepted_per_position"];
    if (!depths.empty()) text += "; accepted at depth 1, 2, ..:";
    for (const ordered_json& accepted : depths)
      text += fmt::format(" {:.2f}", accepted.get<double>() / calls);
    text += "\n";
  }
  const ordered_json& c = f["forecasts"];
  const auto of = [&](const char* key) { return c[key].get<double>(); };
  if (!first && of("oracle_per_second") > 0) {
    text += fmt::format("    knowing what would be accepted: {:.1f} tokens/s\n", of("oracle_per_second"));
  }
  if (const double rounds = of("plain") + of("speculated") + of("probed"); rounds > 0) {
    text += fmt::format(
        "    decided: plain {:.0f}%, probes {:.0f}%; forecast {:.2f} tokens in {:.2f} ms, came {:.2f} in "
        "{:.2f}\n",
        100 * of("plain") / rounds, 100 * of("probed") / rounds, of("forecast_tokens") / rounds,
        of("forecast_ms") / rounds, of("tokens") / rounds, of("ms") / rounds);
  }
  return text;
}

std::string table(const std::string& title, const ordered_json& methods, const ordered_json& rows,
                  bool details) {
  std::string text =
      fmt::format("{}\n  {:<36} {:>7} {:>7} {:>10} {:>6} {:>10} {:>8} {:>9}  {}\n", title, "", "tok/s",
                  "speedup", "95%", "tau", "95%", "calls", "verified", "ms a call: draft, verify, other");
  for (std::size_t m = 0; m < rows.size(); ++m) {
    text += row_text(methods[m], rows[m], m == 0) + "\n";
    if (details) text += details_of(rows[m], m == 0);
  }
  return text;
}

/// The least of a method's speedups over the suites.
double worst_suite(const ordered_json& suites, std::size_t method) {
  double worst = 0;
  bool any = false;
  for (const ordered_json& suite : suites) {
    if (suite["methods"].empty()) continue;
    const double speedup = suite["methods"][method]["speedup"].get<double>();
    worst = any ? std::min(worst, speedup) : speedup;
    any = true;
  }
  return worst;
}

/// "|" would end a cell.
std::string label_cell(const ordered_json& method) {
  std::string text = method["label"].get<std::string>();
  std::replace(text.begin(), text.end(), '|', '/');
  return "`" + text + "`";
}

std::string summary_row(const ordered_json& document, std::size_t method) {
  const ordered_json& f = document["overall"][method];
  const double calls = std::max(f["calls"].get<double>(), 1.0);
  const auto number = [&](const char* key) { return f[key].get<double>(); };
  const ordered_json& rounds = f["speedup_by_round"];
  return fmt::format(
      "| {} | {:.2f} ({:.2f}-{:.2f}) | {} | {:.2f} | {:.2f} | {:.0f} | {:.2f} | {:.1f} | {:.2f} / {:.2f} |\n",
      label_cell(document["methods"][method]), number("speedup"), rounds[0].get<double>(),
      rounds[2].get<double>(), method == 0 ? "" : interval_text(f, "speedup_interval"),
      worst_suite(document["suites"], method), f["speedup_by_prompt"][0].get<double>(),
      number("tokens_per_second"), number("tau"), number("verified_tokens") / calls,
      number("draft_ms") / calls, number("verify_ms") / calls);
}

std::string by_suite(const ordered_json& document) {
  std::string text = "| speedup by suite |";
  std::string rule = "| --- |";
  std::string plain = "| " + label_cell(document["methods"][0]) + ", tokens/s |";
  std::vector<const ordered_json*> suites;
  for (const ordered_json& suite : document["suites"]) {
    if (suite["methods"].empty()) continue;
    suites.push_back(&suite);
    text += fmt::format(" {} |", suite["name"].get<std::string>());
    rule += " --- |";
    plain += fmt::format(" {:.0f} |", suite["methods"][0]["tokens_per_second"].get<double>());
  }
  text += "\n" + rule + "\n" + plain + "\n";
  for (std::size_t m = 1; m < document["methods"].size(); ++m) {
    text += "| " + label_cell(document["methods"][m]) + " |";
    for (const ordered_json* suite : suites) {
      text += fmt::format(" {:.2f} |", (*suite)["methods"][m]["speedup"].get<double>());
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string suite_tables(const ordered_json& document, bool details) {
  std::string text;
  const ordered_json& methods = document["methods"];
  for (const ordered_json& suite : document["suites"]) {
    if (suite["methods"].empty()) continue;
    text += table(fmt::format("{}: {} of {} prompts", suite["name"].get<std::string>(),
                              suite["prompts"].get<int>(), suite["planned"].get<int>()),
                  methods, suite["methods"], details) +
            "\n";
  }
  if (document["suites"].size() > 1 && !document["overall"].empty()) {
    text += table("all suites (means; counts are sums)", methods, document["overall"], details) + "\n";
  }
  return text;
}

std::string markdown_tables(const ordered_json& document) {
  const ordered_json& settings = document["settings"];
  std::string text = fmt::format(
      "{}, {} weights, temperature {}, {} tokens, {} rounds; {}, {} threads.\n\n",
      document["model"]["name"].get<std::string>(), document["model"]["weights"].get<std::string>(),
      settings["temperature"].dump(), settings["max_tokens"].dump(), document["rounds"].dump(),
      document["machine"]["cpu"].get<std::string>(), document["machine"]["threads"].dump());
  if (document["overall"].empty()) return text + "Nothing was measured.\n";
  text +=
      "| method | speedup (rounds) | 95% | worst suite | worst prompt | tokens/s | τ | rows a call | draft / "
      "verify ms a "
      "call |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (std::size_t m = 0; m < document["overall"].size(); ++m) text += summary_row(document, m);
  return text + "\n" + by_suite(document);
}

}  // namespace augur

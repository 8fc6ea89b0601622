#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

/// What the methods with a policy reach, suite by suite, of a document of suite_document():
/// - of the fastest fixed method (one without a policy; plain decoding is one), and of plain decoding. The
///   best of ten rows that differ by noise alone is some per cent above their mean; so with two rounds and
///   more also of the fixed method that is the fastest by the speedups of every other round, compared in the
///   rounds between, then the other way round: the mean of both.
/// - against the same settings without the policy, where they were run, too: changes of speed, calls and
///   verified tokens.
/// - verified tokens, per token of the text, over those of fixed trees at as many accepted drafts a call.
///   These are the same drafter's that differ in `size` alone; between sizes is interpolated.
/// A suite that has not been measured is left out.
std::string policy_bars(const nlohmann::ordered_json& document);

}  // namespace augur

#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/papers/paper.h"

namespace augur {

/// Tables with our figures (those of `document`) and the paper's for the temperature that the document was
/// measured at, for a terminal. A column is a figure of the suite's document, or made from some:
///   variance                            of the speedup over rounds, as samples; nothing with one round
///   average_length                      drafted tokens verified a call
///   draft_s, additional_s, verify_s, other_s, total_s
///                                       seconds in all; additional: what a policy's trained part takes to
///                                       judge the drafts (nothing where there is none), which the total has
///                                       in it and draft_s has not
/// A column that only the paper has stays empty in our rows.
std::string paper_tables(const PaperStudy& study, const nlohmann::ordered_json& document);

}  // namespace augur

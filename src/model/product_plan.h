#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>

#include "kernels/backend.h"

namespace augur {

/// A number of a plan, as files call it; from 1 to `largest`.
struct PlanField {
  const char* name;
  int GemmPlan::*value;
  int largest;
};
inline constexpr std::array<PlanField, 4> kPlanFields = {{{"one_row_panels", &GemmPlan::one_row_panels, 64},
                                                          {"few_rows_panels", &GemmPlan::few_rows_panels, 64},
                                                          {"stream_lines", &GemmPlan::stream_lines, 1 << 16},
                                                          {"block_kib", &GemmPlan::block_kib, 1 << 16}}};

/// $AUGUR_GEMM_PLAN: GemmPlan's four numbers in their order, as "4,2,160,192". Nothing where it is not set;
/// Error naming it for anything else.
std::optional<GemmPlan> forced_plan();

/// The plan as that variable takes it.
std::string to_string(const GemmPlan& plan);

/// The plan with which products with these matrices, which are of one type, take the least time on this
/// machine, chosen among a few candidates by measurement: a tenth of a second or two. One that is not at
/// least 3% faster than GemmPlan's own isn't taken. Nothing: they are too small for its way over memory
/// to count, or the kernels know no plans. Nothing else may run on the backend meanwhile.
std::optional<GemmPlan> fastest_plan(Backend& backend, std::span<const PackedMatrix* const> matrices);

}  // namespace augur

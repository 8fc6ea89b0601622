#pragma once
#include "kernels/gemm_plan.h"

namespace augur {

/// The narrowest, the widest, and some between.
constexpr GemmPlan kPlans[] = {
    {.one_row_panels = 1, .few_rows_panels = 1, .stream_lines = 1, .block_kib = 1},
    {.one_row_panels = 2, .few_rows_panels = 4, .stream_lines = 80, .block_kib = 24},
    {.one_row_panels = 3, .few_rows_panels = 2, .stream_lines = 321, .block_kib = 7},
    {.one_row_panels = 64, .few_rows_panels = 64, .stream_lines = 65536, .block_kib = 65536}};

}  // namespace augur

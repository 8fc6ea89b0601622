#pragma once
#include "kernels/gemm_traversal.h"

namespace augur {

/// The narrowest, the widest, and some between.
constexpr GemmTraversal kTraversals[] = {
    {.one_row = {.panels = 1, .near_lines = 0}, .few_rows = {.panels = 1, .near_lines = 1}, .block_kib = 1},
    {.one_row = {.panels = 2, .near_lines = 80, .far_lines = 7},
     .few_rows = {.panels = 4, .near_lines = 0, .far_lines = 0},
     .block_kib = 24},
    {.one_row = {.panels = 3, .near_lines = 0, .far_lines = 321},
     .few_rows = {.panels = 2, .near_lines = 24, .far_lines = 160},
     .block_kib = 7},
    {.one_row = {.panels = 64, .near_lines = 65536, .far_lines = 65536},
     .few_rows = {.panels = 64, .near_lines = 65536, .far_lines = 65536},
     .block_kib = 65536}};

}  // namespace augur

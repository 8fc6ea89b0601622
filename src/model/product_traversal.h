#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>

#include "kernels/backend.h"

namespace augur {

/// A number of a traversal, as files call it; from `least` to `largest`.
struct TraversalField {
  const char* name;
  int& (*in)(GemmTraversal& traversal);
  int least, largest;
};
inline constexpr std::array<TraversalField, 7> kTraversalFields = {{
    {.name = "one_row_panels",
     .in = [](GemmTraversal& t) -> int& { return t.one_row.panels; },
     .least = 1,
     .largest = 64},
    {.name = "one_row_near_lines",
     .in = [](GemmTraversal& t) -> int& { return t.one_row.near_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "one_row_far_lines",
     .in = [](GemmTraversal& t) -> int& { return t.one_row.far_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "few_rows_panels",
     .in = [](GemmTraversal& t) -> int& { return t.few_rows.panels; },
     .least = 1,
     .largest = 64},
    {.name = "few_rows_near_lines",
     .in = [](GemmTraversal& t) -> int& { return t.few_rows.near_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "few_rows_far_lines",
     .in = [](GemmTraversal& t) -> int& { return t.few_rows.far_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "block_kib",
     .in = [](GemmTraversal& t) -> int& { return t.block_kib; },
     .least = 1,
     .largest = 1 << 16},
}};

/// $AUGUR_GEMM_PLAN: the numbers of kTraversalFields, as "1,0,0,1,24,320,192". Nothing where it is not set;
/// Error naming it for anything else.
std::optional<GemmTraversal> forced_traversal();

/// The traversal as that variable takes it.
std::string to_string(const GemmTraversal& traversal);

/// What a measurement has chosen.
struct ChosenTraversal {
  GemmTraversal traversal;
  double doubt = 0;  ///< by which the times compared may be too long: standard error of a logarithm

  /// Chosen beside a busy program: worth another measurement.
  bool in_doubt() const;
};

/// The traversal with which products with these matrices, which are of one type, take the least time on this
/// machine, chosen among a few candidates by measurement: some tenths of a second, up to three times as long
/// where something disturbs it. One that is not surely 3% faster than GemmTraversal's own isn't taken.
/// Nothing: they are too small for it to count, or the kernels know no traversals. Nothing else may run on
/// the backend meanwhile.
std::optional<ChosenTraversal> fastest_traversal(Backend& backend,
                                                 std::span<const PackedMatrix* const> matrices);

}  // namespace augur

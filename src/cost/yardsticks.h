#pragma once

namespace augur {

// What those who measure costs and those who decide by them have in common.

/// Of a plain step: what takes or wins less decides nothing, and what no table tells (other caches) eats it.
inline constexpr double kNegligible = 0.01;
/// Of a running mean, an observation: what was seen lately counts, as times and texts change within dozens.
inline constexpr double kRecent = 1.0 / 16;

}  // namespace augur

#pragma once

namespace augur {

/// Rises whenever arithmetic changes bits: what was computed or measured under another number is not used.
inline constexpr int kArithmeticLaw = 2;

}  // namespace augur

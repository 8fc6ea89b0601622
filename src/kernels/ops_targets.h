#pragma once
// Include before Highway's headers in files that are compiled once per target. The targets are those that the
// kernels' variants have: without SSSE3/SSE4 (such processors run the portable code), and without the
// scalable vectors of SVE and RVV (arrays of vectors need a size known to the compiler).
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#pragma once
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace augur {

/// While it lives, this thread's float arithmetic reads subnormal operands as zero and flushes subnormal
/// results to zero (of the same sign), rounding to nearest even. VDPBF16PS and TDPBF16PS do so whatever the
/// control register says; every other GEMM instruction is made to do the same, so that the variants agree.
/// On other architectures it does nothing: they have one variant, which need not agree with another.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() : saved_(_mm_getcsr()) {
    _mm_setcsr(kFlushAndMaskAll);
  }
  ~FlushSubnormals() {
    _mm_setcsr(saved_);
  }
#else
  FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

#if defined(__x86_64__)
 private:
  static constexpr unsigned kFlushAndMaskAll = 0x9fc0;  // FTZ | all exceptions masked | DAZ | nearest
  unsigned saved_;
#endif
};

}  // namespace augur

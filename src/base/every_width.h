#pragma once

/// A function whose loops are compiled for several instruction sets, of which the processor's widest runs.
/// Sums have lanes cut by hand and nothing is fused, so the bits are the same. Not under sanitizers, which do
/// not bear with the choice at the program's start, nor with Clang.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define AUGUR_FOR_EVERY_WIDTH [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define AUGUR_FOR_EVERY_WIDTH
#endif

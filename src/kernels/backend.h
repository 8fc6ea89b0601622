#pragma once
#include "base/cpu.h"
#include "base/thread_pool.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"

namespace augur {

/// The kernels of one instruction-set variant, and how its products go over memory.
struct KernelSet {
  Isa isa;
  GemmFn product;
  AttentionFn attention;
  GemmTraversals traversals = {};

  /// The product as its weights' traversal has it, see GemmFn.
  void gemm(const GemmCall& call, Range panels) const {
    product(call, panels, traversals.of(call.weight->type()));
  }
};

/// Error when this machine cannot run the variant. The reference stays valid for the program's life.
const KernelSet& kernel_set(Isa isa);

/// Where a model runs: a thread team and a kernel variant, whose traversals may be set before anything runs.
/// Passed, never global. Must outlive everything made with it. Forward passes from several threads run one
/// after the other (see ThreadPool).
struct Backend {
  ThreadPool pool;
  KernelSet kernels;

  explicit Backend(int threads = 0, bool pin = false, Isa isa = select_isa())
      : pool(threads, pin), kernels(kernel_set(isa)) {}
};

}  // namespace augur

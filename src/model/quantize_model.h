#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "files/gguf/split_writer.h"
#include "files/importance_matrix.h"

namespace augur {

struct QuantizeModelOptions {
  DType type = DType::Q8_0;  ///< one of quantize_types()
  /// What the matrices' columns matter; null: all the same. Matrices that it does not list are quantised as
  /// without.
  const ImportanceMatrix* importance = nullptr;
  GgufSplit split = {};
  std::function<void(double)> progress = {};
};

/// What a model may be written as: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q3_K, Q2_K, IQ4_NL, IQ4_XS, MXFP4.
const std::vector<DType>& quantize_types();

/// Writes a model, or a draft head, to a GGUF file with its matrices in `type`; vectors, routers and what
/// gates states are F32. Where `type` has 4 bits or fewer, the embedding and the head have 6 (Q6_K) or, rows
/// being no whole blocks of that, 8 (Q8_0). Matrices whose rows are no whole blocks are, if that fits, Q4_1
/// in place of Q4_K and IQ4_NL in place of other types with blocks of 256, otherwise BF16. What is stored in
/// its type already is copied. Other programs read the file as they read any of the family's; a head's (see
/// kHeadArchitecture) only this one does. Error naming the file and the field or tensor for what cannot be
/// written, and for an importance matrix of another model; nothing is left behind then. Returns what was
/// written: one file, or its parts.
std::vector<std::filesystem::path> quantize_model(ThreadPool& pool, const Checkpoint& checkpoint,
                                                  const std::filesystem::path& out,
                                                  const QuantizeModelOptions& options);

}  // namespace augur

#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "files/gguf/writer.h"
#include "files/importance_matrix.h"

namespace augur {

/// A tensor to write: of a model's, or of a table that a file has and a folder has not.
struct GgufItem {
  std::string name;  ///< in the file
  DType type = DType::F32;
  Shape shape;                               ///< in the file, slowest dimension first
  std::vector<const StoredTensor*> tensors;  ///< one after another: experts have one each; empty: `values`
  float offset = 0.0f;                       ///< added to all values
  /// Row i of the file (of a vector: number i) is the tensor's order[i]; empty: they are in order.
  std::vector<std::int64_t> order = {};
  std::vector<std::int64_t> columns = {};  ///< of a matrix, likewise
  std::vector<float> values = {};
  /// [row length], or [matrices, row length] for experts side by side; empty: all columns are worth the same.
  std::vector<float> importance = {};

  std::int64_t row_length() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t matrix_rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  /// Of row `row` of all; null: equal.
  const float* importance_of(std::int64_t row) const {
    if (importance.empty()) return nullptr;
    const bool of_all = std::ssize(importance) == row_length();
    return importance.data() + (of_all ? 0 : row / matrix_rows() * row_length());
  }
};

/// What a GGUF file is made of. Tensors are the checkpoint's, or `raw`'s: it can be moved, not copied.
struct GgufLayout {
  GgufMetadata metadata;
  /// Of a GGUF file, in its own order of rows; experts, which it has side by side, as one matrix.
  std::vector<StoredTensor> raw;
  std::vector<GgufItem> items;

  GgufLayout() = default;
  GgufLayout(GgufLayout&&) = default;
  GgufLayout& operator=(GgufLayout&&) = default;
};

/// A model, or a draft head, with its matrices in `type` where that fits (quantize_model.h has the rules).
/// The checkpoint outlives the layout. Error naming the file and the field or tensor for what GGUF cannot
/// say.
GgufLayout lay_out_gguf(const Checkpoint& checkpoint, DType type);

/// Gives the matrices what `importance` says of them. Error for another model's.
void weigh(const ImportanceMatrix& importance, std::vector<GgufItem>& items);

}  // namespace augur

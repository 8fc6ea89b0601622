#include "checkpoint/delta_folder.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/elementary.h"
#include "base/error.h"
#include "files/gguf/model.h"
#include "files/head_order.h"

namespace augur {

namespace {

using Order = std::vector<std::int64_t>;

constexpr std::string_view kRule = "linear_attn.";
constexpr const char* kInterleaved = "linear_value_heads_interleaved";

/// A row of a stored matrix; of a vector all of it.
struct StoredRow {
  const StoredTensor* tensor;
  std::int64_t row;
};

/// Rows of other tensors under a name of their own, their columns in `columns`' order.
FolderTensor of_rows(std::string name, Shape shape, DType stored, std::vector<StoredRow> rows,
                     Order columns) {
  const DType type = folder_type(stored, shape);
  const std::int64_t length = shape.back();
  return {.name = std::move(name),
          .type = type,
          .shape = std::move(shape),
          .write = [type, length, rows = std::move(rows),
                    columns = std::move(columns)](SafetensorsWriter& writer) {
            std::vector<float> values(static_cast<std::size_t>(length));
            for (const StoredRow& row : rows) {
              read_rows(*row.tensor, row.row, 1, values.data());
              write_values(writer, type, in_order(values, columns));
            }
          }};
}

std::vector<StoredRow> rows_of(const StoredTensor& tensor, const Order& order) {
  std::vector<StoredRow> rows;
  const std::int64_t count = tensor.shape.size() < 2 ? 1 : tensor.shape[0];
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back({&tensor, order.empty() ? i : order[static_cast<std::size_t>(i)]});
  return rows;
}

/// The logarithms of the decays that files have.
FolderTensor logarithms(const StoredTensor& decay, std::string name, const Order& order) {
  std::vector<float> values(static_cast<std::size_t>(decay.shape[0]));
  read_rows(decay, 0, 1, values.data());
  for (float& value : values) {
    if (!(value < 0) || !std::isfinite(value))
      throw Error("{}: tensor {}: expected negative numbers, found {}", decay.file, decay.name, value);
    value = static_cast<float>(elementary::log(-static_cast<double>(value)));
  }
  values = in_order(std::move(values), order);
  return {.name = std::move(name),
          .type = DType::F32,
          .shape = decay.shape,
          .write = [values = std::move(values)](SafetensorsWriter& writer) {
            write_values(writer, DType::F32, values);
          }};
}

}  // namespace

std::optional<DeltaFolder> DeltaFolder::of(const Checkpoint& checkpoint) {
  if (!checkpoint.is_gguf()) return std::nullopt;
  const GgufArchitecture* const architecture = gguf_architecture_of(*checkpoint.gguf());
  if (architecture == nullptr || !architecture->delta) return std::nullopt;
  const auto size = [&](const char* key) {
    constexpr std::int64_t kMost = 1 << 20;
    const auto found = checkpoint.config().find(key);
    const std::int64_t value =
        found != checkpoint.config().end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    if (value < 1 || value > kMost)
      throw Error("{}: {}: expected a number from 1 to {}", checkpoint.path().string(), key, kMost);
    return value;
  };
  DeltaFolder folder(checkpoint.weights());
  folder.interleaved_ = architecture->delta_interleaved;
  folder.key_heads_ = size("linear_num_key_heads");
  folder.value_heads_ = size("linear_num_value_heads");
  folder.key_dim_ = size("linear_key_head_dim");
  folder.value_dim_ = size("linear_value_head_dim");
  folder.hidden_ = size("hidden_size");
  folder.taps_ = size("linear_conv_kernel_dim");
  if (folder.value_heads_ % folder.key_heads_ != 0)
    throw Error("{}: expected value heads ({}) to be a multiple of key heads ({})",
                checkpoint.path().string(), folder.value_heads_, folder.key_heads_);
  return folder;
}

/// Where number i of a folder's order is in the file: heads of `width` numbers each, behind `first` others.
Order DeltaFolder::order(std::int64_t first, std::int64_t width) const {
  if (!interleaved_) return {};
  return transposed_heads(value_heads_ / key_heads_, key_heads_, first, width);
}

/// Queries, keys, values and gates of a key head, and so on for the next.
FolderTensor DeltaFolder::together(const StoredTensor& qkv, const std::string& prefix) const {
  const std::int64_t keys = key_heads_ * key_dim_;
  const std::int64_t values = value_heads_ * value_dim_;
  const StoredTensor& z = store_->require(prefix + "in_proj_z.weight", {values, hidden_});
  std::vector<StoredRow> rows;
  const auto add = [&](const StoredTensor& from, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) rows.push_back({&from, first + i});
  };
  const std::int64_t width = values / key_heads_;
  for (std::int64_t head = 0; head < key_heads_; ++head) {
    add(qkv, head * key_dim_, key_dim_);
    add(qkv, keys + head * key_dim_, key_dim_);
    add(qkv, 2 * keys + head * width, width);
    add(z, head * width, width);
  }
  return of_rows(prefix + "in_proj_qkvz.weight", {2 * keys + 2 * values, hidden_}, qkv.dtype, std::move(rows),
                 {});
}

bool DeltaFolder::lay_out(const StoredTensor& tensor, std::vector<FolderTensor>& to) const {
  const std::size_t at = tensor.name.find(kRule);
  if (at == std::string::npos) return false;
  const std::string prefix = tensor.name.substr(0, at + kRule.size());
  const std::string_view name = std::string_view(tensor.name).substr(prefix.size());
  const std::int64_t keys = key_heads_ * key_dim_;
  const std::int64_t values = value_heads_ * value_dim_;
  const auto expect = [&](const Shape& shape) { store_->require(tensor.name, shape); };
  const auto add = [&](const Shape& shape, const Order& rows, Order columns = {}) {
    to.push_back(of_rows(tensor.name, shape, tensor.dtype, rows_of(tensor, rows), std::move(columns)));
  };
  // Qwen3-Next's two matrices are one in a folder; those of the first files are one already.
  if (name == "in_proj_qkv.weight") {
    expect({2 * keys + values, hidden_});
    if (interleaved_)
      add(tensor.shape, order(2 * keys, value_dim_));
    else
      to.push_back(together(tensor, prefix));
  } else if (name == "in_proj_z.weight") {
    expect({values, hidden_});
    if (interleaved_) add(tensor.shape, order(0, value_dim_));
  } else if (name == "in_proj_b.weight" || name == "in_proj_a.weight") {
    expect({value_heads_, hidden_});
    add(tensor.shape, order(0, 1));
  } else if (name == "conv1d.weight") {
    expect({2 * keys + values, 1, taps_});
    add(tensor.shape, order(2 * keys, value_dim_));
  } else if (name == "A") {
    expect({value_heads_});
    to.push_back(logarithms(tensor, prefix + "A_log", order(0, 1)));
  } else if (name == "dt_bias") {
    expect({value_heads_});
    add(tensor.shape, {}, order(0, 1));
  } else if (name == "out_proj.weight") {
    expect({hidden_, values});
    add(tensor.shape, {}, order(0, value_dim_));
  } else {
    return false;
  }
  return true;
}

void DeltaFolder::change(nlohmann::json& config) {
  config.erase(kInterleaved);
}

}  // namespace augur

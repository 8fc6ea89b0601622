#include "files/gpt_oss_experts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace augur {

namespace {

constexpr std::string_view kExperts = ".mlp.experts.";
constexpr std::int64_t kMostExperts = 4096;
constexpr std::int64_t kBlock = 32;       ///< values that share a scale
constexpr std::int64_t kBlockBytes = 16;  ///< of their values

[[noreturn]] void refuse(const StoredTensor& tensor, std::string_view expected) {
  throw Error("{}: tensor {}: expected {}, found {} of shape {}", tensor.file, tensor.name, expected,
              name(tensor.dtype), to_string(tensor.shape));
}

bool is_float(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16;
}

/// One tensor over all experts.
struct Stack {
  const StoredTensor& tensor;
  std::string prefix;        ///< up to and with ".experts."
  std::string_view suffix;   ///< of a part's name: ".weight", ".bias"
  DType type;                ///< of a part
  std::int64_t rows = 0;     ///< of an expert: outputs
  std::int64_t columns = 0;  ///< 0: a vector
  bool transposed = false;
  const StoredTensor* scales = nullptr;
};

/// Every `step`-th row from `first` on, expert by expert.
void add_parts(const Stack& stack, std::string_view part, std::int64_t first, std::int64_t step,
               std::vector<StoredTensor>& out) {
  const std::int64_t experts = stack.tensor.shape[0];
  const auto slice = [&](std::span<const std::byte> bytes, std::int64_t e) {
    const std::size_t size = bytes.size() / static_cast<std::size_t>(experts);
    return bytes.subspan(static_cast<std::size_t>(e) * size, size);
  };
  for (std::int64_t e = 0; e < experts; ++e) {
    StoredTensor one;
    one.name = fmt::format("{}{}.{}{}", stack.prefix, e, part, stack.suffix);
    one.dtype = stack.type;
    one.shape = {stack.rows / step};
    if (stack.columns > 0) one.shape.push_back(stack.columns);
    one.bytes = slice(stack.tensor.bytes, e);
    one.order = {.first = first, .step = step, .columns = stack.transposed};
    if (stack.scales != nullptr) one.order.scales = slice(stack.scales->bytes, e);
    one.file = stack.tensor.file;
    out.push_back(std::move(one));
  }
}

/// The parts of `tensor`, which is called `which` ("gate_up_proj", "down_proj"), and what they are made of.
void split(const WeightStore& store, const StoredTensor& tensor, std::string_view which,
           std::vector<std::string>& names, std::vector<StoredTensor>& parts) {
  const Shape& shape = tensor.shape;
  const bool fused = which == "gate_up_proj";
  const std::string stem = tensor.name.substr(0, tensor.name.find(which));
  const std::string_view ending = std::string_view(tensor.name).substr(stem.size() + which.size());
  Stack stack{.tensor = tensor, .prefix = stem, .suffix = ".weight", .type = tensor.dtype};
  names.push_back(tensor.name);
  if (ending == "_bias") {
    if (shape.size() != 2 || !is_float(tensor.dtype)) refuse(tensor, "floats of shape [experts, rows]");
    stack.suffix = ".bias";
    stack.rows = shape[1];
  } else if (ending.empty()) {
    if (shape.size() != 3 || !is_float(tensor.dtype) || shape[1] < 1) {
      refuse(tensor, "floats of shape [experts, columns, rows]");
    }
    stack.rows = shape[2];
    stack.columns = shape[1];
    stack.transposed = true;
  } else {
    if (shape.size() != 4 || tensor.dtype != DType::U8 || shape[2] < 1 || shape[3] != kBlockBytes ||
        shape[2] > INT64_MAX / kBlock) {
      refuse(tensor, "U8 of shape [experts, rows, columns / 32, 16]");
    }
    const std::string other = fmt::format("{}{}_scales", stem, which);
    stack.scales = &store.require(other, {shape[0], shape[1], shape[2]});
    if (stack.scales->dtype != DType::U8) refuse(*stack.scales, "U8");
    names.push_back(other);
    stack.type = DType::MXFP4;
    stack.rows = shape[1];
    stack.columns = kBlock * shape[2];
  }
  if (shape[0] < 1 || shape[0] > kMostExperts || stack.rows < 1 || (fused && stack.rows % 2 != 0)) {
    refuse(tensor, fmt::format("1 to {} experts, and as many rows of gate as of up", kMostExperts));
  }
  if (fused) {
    add_parts(stack, "gate_proj", 0, 2, parts);
    add_parts(stack, "up_proj", 1, 2, parts);
  } else {
    add_parts(stack, "down_proj", 0, 1, parts);
  }
}

}  // namespace

void split_gpt_oss_experts(WeightStore& store) {
  std::vector<std::string> names;
  std::vector<StoredTensor> parts;
  for (const auto& entry : store.tensors()) {
    const std::size_t at = entry.first.find(kExperts);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(entry.first).substr(at + kExperts.size());
    for (const std::string_view which : {"gate_up_proj", "down_proj"}) {
      for (const std::string_view ending : {"", "_bias", "_blocks"}) {
        if (rest == fmt::format("{}{}", which, ending)) split(store, entry.second, which, names, parts);
      }
    }
  }
  store.replace(names, std::move(parts));
}

}  // namespace augur

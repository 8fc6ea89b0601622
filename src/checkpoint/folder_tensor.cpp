#include "checkpoint/folder_tensor.h"

#include <algorithm>
#include <span>
#include <vector>

namespace augur {

DType folder_type(DType stored, const Shape& shape) {
  if (is_integer(stored) || stored == DType::BF16) return stored;
  return shape.size() < 2 ? DType::F32 : DType::BF16;
}

void write_values(SafetensorsWriter& writer, DType type, std::span<const float> values) {
  if (type == DType::F32) return writer.write(std::as_bytes(values));
  std::vector<BF16> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(), to_bf16);
  writer.write(std::as_bytes(std::span(rounded)));
}

}  // namespace augur

#pragma once
#include <functional>
#include <span>
#include <string>

#include "base/dtype.h"
#include "files/safetensors_writer.h"
#include "files/weight_store.h"

namespace augur {

/// A tensor of a folder that is to be written.
struct FolderTensor {
  std::string name;
  DType type = DType::BF16;
  Shape shape;
  std::function<void(SafetensorsWriter&)> write;  ///< all of its values, in this type
};

/// The type that values of this type and shape are written in: bf16, of vectors, such as norms, float32; what
/// is bf16 or integers already stays it.
DType folder_type(DType stored, const Shape& shape);

/// Rounds and writes what a FolderTensor's type is.
void write_values(SafetensorsWriter& writer, DType type, std::span<const float> values);

}  // namespace augur

#include "lab/train/torch_tensors.h"

#include <cstring>

#include "base/error.h"
#include "files/safetensors_writer.h"

namespace augur {

namespace {

DType stored_type(torch::ScalarType type, const std::string& name) {
  switch (type) {
    case torch::kFloat32:
      return DType::F32;
    case torch::kFloat64:
      return DType::F64;
    case torch::kBFloat16:
      return DType::BF16;
    case torch::kInt64:
      return DType::I64;
    case torch::kInt32:
      return DType::I32;
    case torch::kUInt8:
      return DType::U8;
    case torch::kBool:
      return DType::Bool;
    default:
      throw Error("tensor {}: type {} cannot be saved", name, torch::toString(type));
  }
}

}  // namespace

torch::Tensor to_torch(const StoredTensor& stored) {
  const std::vector<std::int64_t> shape(stored.shape.begin(), stored.shape.end());
  const auto copy = [&](torch::ScalarType type) {
    torch::Tensor t = torch::empty(shape, type);
    if (t.nbytes() != stored.bytes.size()) {
      throw Error("{}: tensor {}: {} bytes where its shape wants {}", stored.file, stored.name,
                  stored.bytes.size(), t.nbytes());
    }
    std::memcpy(t.data_ptr(), stored.bytes.data(), stored.bytes.size());
    return t;
  };
  switch (stored.dtype) {
    case DType::I64:
      return copy(torch::kInt64);
    case DType::I32:
      return copy(torch::kInt32).to(torch::kInt64);
    case DType::U8:
      return copy(torch::kUInt8).to(torch::kInt64);
    case DType::Bool:
      return copy(torch::kBool).to(torch::kInt64);
    default:
      break;
  }
  torch::Tensor out = torch::empty(shape, torch::kFloat32);
  const std::int64_t rows = shape.size() > 1 ? shape[0] : 1;
  read_rows(stored, 0, rows, out.data_ptr<float>());
  return out;
}

std::vector<torch::Tensor> values_of(const NamedTensors& tensors) {
  std::vector<torch::Tensor> values;
  values.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) values.push_back(tensor);
  return values;
}

void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, tensor] : tensors) {
    entries.push_back({name, stored_type(tensor.scalar_type(), name), tensor.sizes().vec()});
  }
  SafetensorsWriter writer(path, entries);
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor flat = tensor.detach().cpu().contiguous();
    writer.write({static_cast<const std::byte*>(flat.data_ptr()), flat.nbytes()});
  }
  writer.finish();
}

}  // namespace augur

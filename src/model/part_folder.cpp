#include "model/part_folder.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "files/json_reader.h"
#include "files/safetensors.h"

namespace augur {

PartFolder::PartFolder(const std::filesystem::path& folder, std::string_view kind, Tensors tensors)
    : file_((folder / "config.json").string()),
      json_(read_json(folder / "config.json")),
      fields_(json_, file_) {
  if (!json_.is_object()) throw Error("{}: expected an object", file_);
  if (const auto found = fields_.find_string("augur_part").value_or("something else"); found != kind) {
    fields_.fail("augur_part", fmt::format("expected {}, found {}", kind, found));
  }
  if (const std::int64_t format = fields_.require_int("format", 1 << 20); format != 1) {
    fields_.fail("format", fmt::format("is {}, this version reads 1", format));
  }
  if (tensors == Tensors::Some) store_ = open_safetensors(folder / "model.safetensors");
}

std::string PartFolder::check_target(const Fingerprint* target, Strictness strictness) const {
  return target == nullptr ? "" : check_fingerprint(file_, json_, *target, strictness);
}

bool PartFolder::fits(const Fingerprint& target, Strictness strictness) const {
  return fits_fingerprint(file_, json_, target, strictness);
}

void PartFolder::require_vocab(std::int32_t vocab) const {
  const std::int64_t made_for = fields_.require_int("vocab", std::int64_t{1} << 24);
  if (made_for != vocab) {
    fields_.fail("vocab", fmt::format("made for a vocabulary of {}, the model has {}", made_for, vocab));
  }
}

std::vector<std::int64_t> PartFolder::integers(const std::string& name, const Shape& shape) const {
  const StoredTensor& tensor = store_->require(name, shape);
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  std::vector<std::int64_t> values(count);
  if (tensor.dtype == DType::I64) {
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  } else if (tensor.dtype == DType::I32) {
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t value = 0;
      std::memcpy(&value, tensor.bytes.data() + 4 * i, 4);
      values[i] = value;
    }
  } else {
    throw Error("{}: tensor {}: expected I64 or I32, found {}", store_->description(), name,
                augur::name(tensor.dtype));
  }
  return values;
}

std::vector<float> PartFolder::floats(const std::string& name, const Shape& shape) const {
  const StoredTensor& tensor = store_->require(name, shape);
  const std::int64_t rows = shape.size() == 2 ? shape.front() : 1;
  std::vector<float> values(static_cast<std::size_t>(rows * shape.back()));
  read_rows(tensor, 0, rows, values.data());
  for (const float value : values) {
    if (!std::isfinite(value)) throw Error("{}: tensor {}: holds {}", tensor.file, name, value);
  }
  return values;
}

}  // namespace augur

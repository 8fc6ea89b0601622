#include "policy/part.h"

#include <cmath>

#include "base/error.h"
#include "io/json_fields.h"
#include "io/json_reader.h"
#include "io/safetensors.h"

namespace augur {

std::vector<float> PolicyPart::tensor(const std::string& name, const Shape& shape) const {
  const StoredTensor& stored = store->require(name, shape);
  const bool matrix = shape.size() == 2;
  std::vector<float> values(static_cast<std::size_t>(shape.back() * (matrix ? shape.front() : 1)));
  read_rows(stored, 0, matrix ? shape.front() : 1, values.data());
  for (const float value : values) {
    if (!std::isfinite(value)) throw Error("{}: tensor {}: holds {}", stored.file, name, value);
  }
  return values;
}

PolicyPart read_policy_part(const std::filesystem::path& folder, std::string_view kind, bool with_tensors,
                            const Fingerprint* target, Strictness strictness, std::string* warning) {
  PolicyPart part;
  part.file = (folder / "config.json").string();
  part.config = read_json(part.file);
  if (!part.config.is_object()) throw Error("{}: expected an object", part.file);
  const JsonFields fields(part.config, part.file);
  const std::string found = fields.find_string("augur_part").value_or("something else");
  if (found != kind) fields.fail("augur_part", fmt::format("expected {}, found {}", kind, found));
  const std::int64_t format = fields.require_int("format", 1 << 20);
  if (format != 1) fields.fail("format", fmt::format("is {}, this version reads 1", format));
  if (target != nullptr) {
    const std::string said = check_fingerprint(part.file, part.config, *target, strictness);
    if (warning != nullptr) *warning = said;
  }
  if (with_tensors) part.store = open_safetensors(folder / "model.safetensors");
  return part;
}

}  // namespace augur

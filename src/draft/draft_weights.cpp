#include "draft/draft_weights.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/product_time.h"

namespace augur {
namespace {

/// More would take longer and tell no more.
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;
/// What 4 bits cost in accepted drafts has to be won back.
constexpr double kWorthwhile = 0.9;

/// The largest matrix of floats whose rows are whole blocks of 32; null: there is none.
const StoredTensor* largest_float_matrix(const Checkpoint& head) {
  const WeightStore* store = head.find_weights();
  const StoredTensor* largest = nullptr;
  if (store == nullptr) return largest;
  for (const auto& [name, tensor] : store->tensors()) {
    const bool floats =
        tensor.dtype == DType::F32 || tensor.dtype == DType::F16 || tensor.dtype == DType::BF16;
    if (!floats || tensor.shape.size() != 2 || tensor.shape[1] % 32 != 0 || tensor.shape[1] == 0) continue;
    if (largest == nullptr || tensor.bytes.size() > largest->bytes.size()) largest = &tensor;
  }
  return largest;
}

/// Of the types of 4 bits Q4_1 costs the least accepted length.
WeightForm automatic(const Checkpoint& head, const Model& target) {
  WeightForm form = {.floats = target.float_type(), .native = true};
  const StoredTensor* matrix = largest_float_matrix(head);
  if (matrix == nullptr) return form;
  const std::int64_t k = matrix->shape[1];
  const std::int64_t n =
      std::clamp(kMostElements / k, PackedMatrix::kPanel, std::max(matrix->shape[0], PackedMatrix::kPanel));
  Backend& backend = target.backend();
  const std::vector<double> ms = product_ms(backend, std::array{DType::Q4_1, form.floats}, n, k);
  if (ms[0] < kWorthwhile * ms[1]) form.quantize = DType::Q4_1;
  return form;
}

}  // namespace

WeightForm draft_weight_form(DraftWeightFormat asked, const Checkpoint& head, const Model& target) {
  return asked == DraftWeightFormat::Auto ? automatic(head, target)
                                          : unmeasured_form(asked, target.float_type());
}

WeightForm unmeasured_form(DraftWeightFormat asked, DType floats) {
  switch (asked) {
    case DraftWeightFormat::BF16:
      return {.floats = DType::BF16};
    case DraftWeightFormat::Q8_0:
      return {.floats = floats, .quantize = DType::Q8_0};
    case DraftWeightFormat::Q4_0:
      return {.floats = floats, .quantize = DType::Q4_0};
    case DraftWeightFormat::Q4_1:
      return {.floats = floats, .quantize = DType::Q4_1};
    case DraftWeightFormat::Auto:
    case DraftWeightFormat::Native:
      break;
  }
  return {.floats = floats, .native = true};
}

}  // namespace augur

#include "model/model_choices.h"

#include <algorithm>

#include "base/error.h"
#include "model/kv_cache.h"

namespace augur {

std::int64_t choose_context(const ModelConfig& config, std::int64_t asked) {
  if (asked < 0) throw Error(refused("context"), "a context of {} tokens was asked for", asked);
  const std::int64_t limit = std::max(config.context_limit, config.max_context);
  if (asked > limit) {
    throw Error(refused("context"), "a context of {} tokens was asked for, the model's limit is {}", asked,
                limit);
  }
  return asked > 0 ? asked : config.max_context;
}

WeightForm choose_form(const ModelOptions& options) {
  if (options.form) return *options.form;
  const WeightFormat type = options.weights;
  return {.floats = type == WeightFormat::F32 ? DType::F32 : DType::BF16,
          .native = type == WeightFormat::Auto || type == WeightFormat::Native};
}

DType choose_kv_type(const ModelConfig& config, const ModelOptions& options) {
  const auto type = [&] {
    switch (options.kv) {
      case KvFormat::BF16:
        return DType::BF16;
      case KvFormat::Q8_0:
        return DType::Q8_0;
      case KvFormat::F32:
        return DType::F32;
      case KvFormat::Auto:
        break;
    }
    return choose_form(options).floats;
  }();
  // Fails here for what no cache can be.
  const KvCache smallest(
      {.layers = 1, .kv_heads = 1, .head_dim = config.head_dim, .capacity = 1, .type = type});
  return type;
}

}  // namespace augur

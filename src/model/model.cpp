#include "model/model.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "kernels/ops.h"
#include "model/cpu_device.h"
#include "model/families.h"
#include "model/layer_stack.h"
#include "model/model_choices.h"
#include "model/weights.h"

namespace augur {

namespace {

/// The matrices' types, those with the most elements first.
std::vector<DType> types_of(const ModelWeights& weights) {
  std::map<DType, std::int64_t> elements;
  const auto add = [&](const PackedMatrix& m) { elements[m.type()] += m.n() * m.k(); };
  add(weights.embedding);
  if (!weights.tied) add(weights.head);
  for (const LayerWeights& layer : weights.layers) {
    for_each_matrix(layer, {}, [&](const PackedMatrix& m, double) { add(m); });
  }
  std::vector<DType> types;
  for (const auto& entry : elements) types.push_back(entry.first);
  std::stable_sort(types.begin(), types.end(), [&](DType a, DType b) { return elements[a] > elements[b]; });
  return types;
}

std::string words_of(std::span<const DType> types) {
  std::string names;
  for (const DType type : types) {
    if (!names.empty()) names += ", ";
    for (const char c : name(type)) names += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return names;
}

}  // namespace

std::string_view name(ForwardProfile::Step step) {
  switch (step) {
    case ForwardProfile::Embed:
      return "embed";
    case ForwardProfile::Norm:
      return "norm";
    case ForwardProfile::Qkv:
      return "qkv";
    case ForwardProfile::Rope:
      return "rope";
    case ForwardProfile::Attention:
      return "attention";
    case ForwardProfile::Output:
      return "output";
    case ForwardProfile::GateUp:
      return "gate_up";
    case ForwardProfile::Down:
      return "down";
    case ForwardProfile::Wait:
      return "wait";
  }
  return "";
}

namespace {

ModelWeights taken(Device& device, ModelWeights&& weights) {
  device.take(weights.embedding);
  if (!weights.tied) device.take(weights.head);
  return std::move(weights);
}

}  // namespace

struct Model::Impl {
  Impl(Backend& backend, const ModelConfig& config, const ModelOptions& options, WeightSource& source)
      // Braces: context and cache are checked before anything is read.
      : Impl{backend,
             config,
             options,
             choose_context(config, options.context),
             choose_kv_type(config, options),
             pack_weights(backend.pool, config, choose_form(options), source, options.progress)} {
    fingerprint = fingerprint_of(config, source);
  }
  Impl(Backend& backend, const ModelConfig& config, const ModelOptions& options, std::int64_t context,
       DType kv_type, ModelWeights&& packed)
      : form(choose_form(options)),
        types(types_of(packed)),
        type_names(words_of(types)),
        host(options.device == nullptr ? std::make_unique<CpuDevice>(backend) : nullptr),
        layers(options.device == nullptr ? *host : *options.device, config, kv_type, context,
               std::move(packed.layers)),
        weights(taken(layers.device(), std::move(packed))) {
    assert(&layers.backend() == &backend);
  }

  RowProduct head(bool normed, float* out, std::int64_t out_stride) const {
    assert(out_stride % 16 == 0 && out_stride >= layers.config().vocab);
    return {.matrix = &weights.lm_head(),
            .norm = normed ? std::span<const float>() : weights.final_norm,
            .eps = layers.config().norm_eps,
            .form = logit_form(),
            .out = out,
            .out_stride = out_stride};
  }

  LogitForm logit_form() const {
    return {.scale = layers.config().logit_scale, .cap = layers.config().logit_cap};
  }

  const WeightForm form;
  const std::vector<DType> types;
  const std::string type_names;
  const std::unique_ptr<Device> host;  ///< null: the device is the caller's
  LayerStack layers;
  const ModelWeights weights;  ///< without the layers
  Fingerprint fingerprint;
};

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

std::unique_ptr<Model> Model::load(Backend& backend, const Checkpoint& checkpoint,
                                   const ModelOptions& options) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  StoredWeights source = stored_model(checkpoint.weights(), config);
  return std::unique_ptr<Model>(new Model(std::make_unique<Impl>(backend, config, options, source)));
}

std::unique_ptr<Model> Model::random(Backend& backend, const ModelConfig& config, std::uint64_t seed,
                                     const ModelOptions& options) {
  RandomWeights source(seed);
  return std::unique_ptr<Model>(new Model(std::make_unique<Impl>(backend, config, options, source)));
}

const ModelConfig& Model::config() const {
  return impl_->layers.config();
}
const Fingerprint& Model::fingerprint() const {
  return impl_->fingerprint;
}
DType Model::float_type() const {
  return impl_->form.floats;
}
DType Model::kv_type() const {
  return impl_->layers.kv_type();
}
const WeightForm& Model::weight_form() const {
  return impl_->form;
}
LogitForm Model::logit_form() const {
  return impl_->logit_form();
}
std::span<const DType> Model::types() const {
  return impl_->types;
}
const std::string& Model::weight_types() const {
  return impl_->type_names;
}
std::int64_t Model::context() const {
  return impl_->layers.context();
}
Device& Model::device() const {
  return impl_->layers.device();
}
Backend& Model::backend() const {
  return impl_->layers.backend();
}
void Model::visit_matrices(const std::function<void(const PackedMatrix&)>& visit) const {
  for (const LayerWeights& layer : impl_->layers.weights()) {
    for_each_matrix(layer, {}, [&](const PackedMatrix& matrix, double) { visit(matrix); });
  }
  visit(impl_->weights.lm_head());
}
std::int64_t Model::weight_bytes() const {
  return impl_->weights.lm_head().bytes() + impl_->layers.bytes();
}
KvCache Model::make_cache(std::int64_t capacity) const {
  return impl_->layers.make_cache(capacity);
}

void Model::forward(const TokenBatch& batch, const ForwardOptions& options) {
  impl_->layers.forward(batch, options, &impl_->weights.embedding);
}

std::span<const float> Model::result() const {
  return impl_->layers.result();
}

std::int64_t Model::woken_experts() const {
  return impl_->layers.woken_experts();
}

void Model::logits(std::span<const std::int32_t> rows, float* out, std::int64_t out_stride) {
  Impl& m = *impl_;
  for (const std::int32_t row : rows) {
    if (row < 0 || row >= m.layers.result_rows()) {
      throw Error(ErrorKind::Internal, "logits: row {} of {}", row, m.layers.result_rows());
    }
  }
  m.layers.project(m.head(false, out, out_stride), rows);
}

void Model::logits_of(const float* hidden, int count, bool normed, float* out, std::int64_t out_stride) {
  impl_->layers.project_rows(impl_->head(normed, out, out_stride), hidden, count);
}

const PackedMatrix& Model::lm_head() const {
  return impl_->weights.lm_head();
}
const PackedMatrix& Model::embedding() const {
  return impl_->weights.embedding;
}
std::span<const float> Model::final_norm_weight() const {
  return impl_->weights.final_norm;
}
const float* Model::result_row(int row) const {
  return impl_->layers.result_row(row);
}

void Model::final_norm(const float* hidden, int count, float* out) const {
  const std::int64_t width = impl_->layers.config().hidden;
  for (int r = 0; r < count; ++r) {
    rms_norm(hidden + r * width, impl_->weights.final_norm.data(), impl_->layers.config().norm_eps, width,
             InputForm::F32, out + r * width);
  }
}

void Model::embed(std::span<const TokenId> tokens, float* out) const {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= impl_->layers.config().vocab) {
      throw Error(ErrorKind::Internal, "embed: token {} is outside the vocabulary of {}", token,
                  impl_->layers.config().vocab);
    }
    device().read_row(impl_->weights.embedding, token, out);
    out += impl_->layers.config().hidden;
  }
}

}  // namespace augur

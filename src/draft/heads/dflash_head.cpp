#include "draft/heads/dflash_head.h"

#include <algorithm>

#include "base/error.h"
#include "files/mapped_file.h"
#include "files/torch_archive.h"
#include "model/row_ops.h"
#include "vocab/head_row.h"

namespace augur {

DflashHead::DflashHead(const DrafterSource& source, bool dspark) : target_(source.target) {
  HeadLoader loader(source, stored_layers(source.head->weights(), "layers.0."));
  const DflashKeys keys(loader.config());
  // DeepSpec's DSpark predicts from the anchor on and does not say so.
  const bool deep_spec = dspark && loader.config().find("speculators_model_type") == nullptr;
  config_ = DflashConfig::read(loader, keys, deep_spec);
  width_ = loader.layers().hidden;
  eps_ = loader.layers().norm_eps;
  features_ = std::ssize(config_.taps) * loader.target().hidden;
  if (const auto hidden = loader.config().find_int("target_hidden_size", 1 << 20)) {
    loader.require_hidden(*hidden, "target_hidden_size");
  }
  own_embedding_ = loader.has("embed_tokens.weight");
  if (own_embedding_) {
    loader.matrix(embedding_, "embed_tokens.weight", loader.target().vocab, width_);
  } else {
    loader.require_hidden(width_, "hidden_size (the head has no embedding of its own)");
  }
  fc_.open(loader.packer(), "fc", width_, features_, loader.has("fc.bias"));
  loader.vector(hidden_norm_, "hidden_norm.weight", width_);
  loader.open_layers();
  open_exit(loader);
  if (dspark) markov_ = std::make_unique<MarkovHead>(loader, keys, vocab_, target_ids_);
  layers_ = loader.finish();
  if (!own_head_ && !target_ids_.empty()) {
    head_ = gather_rows(source.target.device(), target_.lm_head(), target_ids_);
    own_head_ = true;
    form_ = target_.logit_form();
  }
  read_mask(loader, keys);
}

void DflashHead::open_exit(HeadLoader& loader) {
  loader.vector(norm_, "norm.weight", width_);
  // Copies of the target's that some tools store along.
  loader.pass_over("verifier_lm_head.weight");
  loader.pass_over("verifier_norm.weight");
  own_head_ = loader.has("lm_head.weight");
  if (own_head_) {
    vocab_ = loader.rows_of("lm_head.weight");
    require_draft_vocabulary(loader, "lm_head.weight");
    loader.matrix(head_, "lm_head.weight", vocab_, width_);
    target_ids_ = loader.target_ids(vocab_);
    return;
  }
  loader.require_hidden(width_, "hidden_size (the head has no lm_head of its own)");
  // Heads over the whole vocabulary may carry maps that say nothing, as published.
  const bool restricted = loader.config().flag("shares_target_head") &&
                          (loader.has("d2t") || loader.config().find("draft_vocab_size") != nullptr);
  if (restricted) {
    vocab_ = loader.length_of("d2t");
    require_draft_vocabulary(loader, "d2t");
    target_ids_ = loader.target_ids(vocab_);
  } else {
    vocab_ = loader.target().vocab;
    loader.pass_over("d2t");
    loader.pass_over("t2d");
  }
}

/// Error unless config.json states as many entries as `tensor` has, if any.
void DflashHead::require_draft_vocabulary(const HeadLoader& loader, const char* tensor) const {
  const JsonFields& config = loader.config();
  if (const auto size = config.find_int("draft_vocab_size", 1 << 24); size && *size != vocab_) {
    config.fail("draft_vocab_size", fmt::format("is {}, {} has {} rows", *size, tensor, vocab_));
  }
}

/// The placeholder's embedding lies in a file of its own where the target has no row for it, or none that is
/// trained.
void DflashHead::read_mask(const HeadLoader& loader, const DflashKeys& keys) {
  mask_.resize(static_cast<std::size_t>(width_));
  const auto file = loader.source().head->path() / "mask_embedding.pt";
  if (file_exists(file)) {
    const auto store = open_torch_archive(file);
    if (store->tensors().size() != 1) {
      throw Error("{}: expected one tensor, found {}", file.string(), store->tensors().size());
    }
    const StoredTensor& tensor = store->tensors().begin()->second;
    std::int64_t values = 1;
    for (const std::int64_t size : tensor.shape) values *= size;
    if (tensor.shape.empty() || values != width_ || tensor.shape.back() != width_) {
      throw Error("{}: tensor {}: expected {} values, found shape {}", file.string(), tensor.name, width_,
                  to_string(tensor.shape));
    }
    read_rows(tensor, 0, 1, mask_.data());
    return;
  }
  const JsonFields& from = keys.with("mask_token_id");
  if (!config_.mask_token) from.fail("mask_token_id", "missing, and there is no mask_embedding.pt");
  if (*config_.mask_token >= loader.target().vocab) {
    from.fail("mask_token_id",
              fmt::format("{} is no token of {}, which has {}, and there is no mask_embedding.pt",
                          *config_.mask_token, loader.source().target_path, loader.target().vocab));
  }
  embed(*config_.mask_token, mask_.data());
}

void DflashHead::embed(TokenId token, float* out) const {
  if (own_embedding_) {
    embedding_.get_row(token, out);
  } else {
    target_.embed({&token, 1}, out);
  }
}

void DflashHead::store(const TokenBatch& batch, const float* features) {
  const int rows = batch.rows();
  fc_.run(backend(), rows, [&](std::int64_t r) { return features + r * features_; });
  context_.resize(static_cast<std::size_t>(rows * width_));
  norm_rows(backend(), {fc_.out(0), fc_.out_stride()}, rows, hidden_norm_, eps_, context_.data(), width_);
  layers_->store(batch, context_.data());
}

void DflashHead::run(const TokenBatch& batch, std::span<const std::int32_t> rows, Result& out) {
  embeddings_.resize(static_cast<std::size_t>(batch.rows() * width_));
  for (std::size_t r = 0; r < batch.tokens.size(); ++r) {
    float* to = embeddings_.data() + static_cast<std::int64_t>(r) * width_;
    if (batch.parents[r] < 0) {
      embed(batch.tokens[r], to);
    } else {
      std::copy(mask_.begin(), mask_.end(), to);
    }
  }
  layers_->forward(batch, {.embeddings = embeddings_.data(), .block = config_.masks}, nullptr);

  const auto count = static_cast<int>(rows.size());
  out.width = width_;
  out.vocab = vocab_;
  out.stride = (vocab_ + 15) / 16 * 16;
  out.states.resize(static_cast<std::size_t>(count * width_));
  const auto size = static_cast<std::size_t>(count * out.stride);
  if (out.values.size() < size) out.values = Buffer<float>(size);
  for (int i = 0; i < count; ++i) {
    norm_rows(backend(), {layers_->result_row(rows[static_cast<std::size_t>(i)]), width_}, 1, norm_, eps_,
              out.states.data() + i * width_, width_);
  }
  if (own_head_) {
    layers_->project_rows(
        {.matrix = &head_, .form = form_, .out = out.values.data(), .out_stride = out.stride},
        out.states.data(), count);
  } else {
    target_.logits_of(out.states.data(), count, true, out.values.data(), out.stride);
  }
}

}  // namespace augur

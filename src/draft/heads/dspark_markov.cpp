#include "draft/heads/dspark_markov.h"

#include <algorithm>

#include "base/elementary.h"
#include "base/error.h"
#include "kernels/ops.h"
#include "model/row_ops.h"

namespace augur {
namespace {

float sigmoid(float x) {
  return static_cast<float>(1.0 / (1.0 + elementary::exp(-x)));
}

float tanh(float x) {
  return static_cast<float>(elementary::tanh(x));
}

/// A few rows: doubles cost nothing and take the order of the sum out of the result.
double dot(const float* a, const float* b, std::int64_t n) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

MarkovHead::MarkovHead(HeadLoader& loader, const DflashKeys& keys, std::int64_t vocab,
                       std::span<const TokenId> ids)
    : hidden_(loader.layers().hidden) {
  const JsonFields& ranked = keys.with("markov_rank");
  rank_ = ranked.require_int("markov_rank", 1 << 16);
  const JsonFields& typed = keys.with("markov_head_type");
  const std::string type = typed.find_string("markov_head_type").value_or("vanilla");
  const std::string embedding = "markov_head.markov_w1.weight";
  std::int64_t tokens = loader.target().vocab;
  if (!ids.empty() && loader.has(embedding) && loader.rows_of(embedding) == vocab) {
    entry_of_.assign(static_cast<std::size_t>(tokens), -1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      entry_of_[static_cast<std::size_t>(ids[i])] = static_cast<std::int32_t>(i);
    }
    tokens = vocab;
  }
  loader.matrix(embedding_, embedding, tokens, rank_);
  bias_.open(loader.packer(), "markov_head.markov_w2", vocab, rank_,
             loader.has("markov_head.markov_w2.bias"));
  const auto open_mixer = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    mixer_.open(loader.packer(), name, outputs, inputs, loader.has(name + ".bias"));
    mixer_inputs_ = RowBuffer(InputForm::F32, inputs, 1);
  };
  if (type == "gated") {
    kind_ = Kind::Gated;
    open_mixer("markov_head.gate_proj", rank_, hidden_ + rank_);
  } else if (type == "rnn") {
    kind_ = Kind::Rnn;
    open_mixer("markov_head.joint_proj", 3 * rank_, 2 * rank_ + hidden_);
  } else if (type != "vanilla") {
    typed.fail("markov_head_type", fmt::format("{:?} is not supported (vanilla, gated, rnn)", type),
               ErrorKind::Unsupported);
  }
  if (loader.has("confidence_head.proj.weight")) {
    const bool with_markov = keys.flag("confidence_head_with_markov", true);
    loader.tensor(confidence_, "confidence_head.proj.weight", {1, hidden_ + (with_markov ? rank_ : 0)});
    if (loader.has("confidence_head.proj.bias")) {
      std::vector<float> bias;
      loader.vector(bias, "confidence_head.proj.bias", 1);
      confidence_bias_ = bias[0];
    }
  }
  embedded_ = RowBuffer(InputForm::F32, rank_, PackedMatrix::kPanel);
}

void MarkovHead::latents(Backend& backend, std::span<const Row> rows) {
  const auto count = std::ssize(rows);
  const bool mixes = kind_ != Kind::Vanilla;
  embedded_.ensure(count);
  if (mixes) mixer_inputs_.ensure(count);
  const auto row = [&](std::int64_t r) -> const Row& { return rows[static_cast<std::size_t>(r)]; };
  for_each_row(backend, count, hidden_ + rank_, [&](std::int64_t r) {
    embed(row(r).token, embedded_.floats(r));
    if (mixes) load_mixer_input(row(r), embedded_.floats(r), mixer_inputs_.floats(r));
  });
  if (mixes) {
    mixer_.run(backend, static_cast<int>(count), [&](std::int64_t r) { return mixer_inputs_.floats(r); });
  }
  for_each_row(backend, count, hidden_ + rank_,
               [&](std::int64_t r) { finish(row(r), embedded_.floats(r), mixes ? mixer_.out(r) : nullptr); });
}

/// What the mixer reads of a row: [h; e], or with path states [s; e; h].
void MarkovHead::load_mixer_input(const Row& row, const float* embedding, float* out) const {
  if (kind_ == Kind::Gated) {
    out = std::copy_n(row.state, hidden_, out);
    std::copy_n(embedding, rank_, out);
  } else {
    out =
        row.path_before != nullptr ? std::copy_n(row.path_before, rank_, out) : std::fill_n(out, rank_, 0.0f);
    out = std::copy_n(embedding, rank_, out);
    std::copy_n(row.state, hidden_, out);
  }
}

void MarkovHead::embed(TokenId token, float* out) const {
  const std::int32_t row = entry_of_.empty() ? token : entry_of_[static_cast<std::size_t>(token)];
  if (row >= 0) {
    embedding_.get_row(row, out);
  } else {
    std::fill_n(out, rank_, 0.0f);
  }
}

/// Latent, path state and confidence of a row from its products.
void MarkovHead::finish(const Row& row, const float* embedding, const float* mixed) const {
  for (std::int64_t i = 0; i < rank_; ++i) {
    switch (kind_) {
      case Kind::Vanilla:
        row.latent[i] = embedding[i];
        break;
      case Kind::Gated:
        row.latent[i] = sigmoid(mixed[i]) * embedding[i];
        break;
      case Kind::Rnn: {
        const float gate = sigmoid(mixed[i]);
        const float before = row.path_before == nullptr ? 0.0f : row.path_before[i];
        row.path_after[i] = gate * before + (1.0f - gate) * tanh(mixed[rank_ + i]);
        row.latent[i] = tanh(mixed[2 * rank_ + i]);
        break;
      }
    }
  }
  if (confidence_.empty()) return;
  double sum = static_cast<double>(confidence_bias_) + dot(confidence_.data(), row.state, hidden_);
  if (std::ssize(confidence_) > hidden_) sum += dot(confidence_.data() + hidden_, embedding, rank_);
  *row.confidence = static_cast<float>(1.0 / (1.0 + elementary::exp(-sum)));
}

void MarkovHead::add_bias(Backend& backend, std::span<const Biased> rows) {
  const auto row = [&](std::int64_t r) -> const Biased& { return rows[static_cast<std::size_t>(r)]; };
  bias_.run(backend, static_cast<int>(rows.size()), [&](std::int64_t r) { return row(r).latent; });
  for_each_row(backend, std::ssize(rows), bias_.outputs(),
               [&](std::int64_t r) { add_row(bias_.out(r), row(r).logits, bias_.outputs()); });
}

}  // namespace augur

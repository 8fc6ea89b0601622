#include "model/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "files/head_order.h"
#include "model/gguf_metadata.h"
#include "model/prefill.h"
#include "model/recurrent_layout.h"

namespace augur {
namespace {

/// Of a piece, which begins with nothing before it.
constexpr std::int64_t kTokens = 512;

/// The matrices that read the same rows, as GGUF calls them.
std::vector<std::string> matrices_of(const ProductInput& input, const LayerSpec& layer) {
  const char* of = input.expert >= 0 ? "_exps" : layer.experts.count > 0 ? "_shexp" : "";
  const bool recurrent = layer.recurs();
  switch (input.product) {
    case ProductInput::Qkv:
      if (recurrent && layer.recurrent.mamba()) return {"ssm_in"};
      if (recurrent) return {"attn_qkv", "attn_gate"};
      if (!layer.attends()) return {"shortconv.in_proj"};
      return {"attn_q", "attn_k", "attn_v"};
    case ProductInput::Output:
      return {recurrent ? "ssm_out" : layer.attends() ? "attn_output" : "shortconv.out_proj"};
    case ProductInput::GateUp:
      if (!is_gated(layer.activation)) return {fmt::format("ffn_up{}", of)};
      return {fmt::format("ffn_gate{}", of), fmt::format("ffn_up{}", of)};
    case ProductInput::LatentIn:
      return {"ffn_latent_down"};
    case ProductInput::LatentOut:
      return {"ffn_latent_up"};
    case ProductInput::Down:
      return {fmt::format("ffn_down{}", of)};
  }
  return {};
}

/// Adds up squares by column.
class Sums : public InputObserver {
 public:
  explicit Sums(const ModelConfig& config) : config_(config) {}

  void saw(const ProductInput& input) override {
    const LayerSpec& layer = config_.layer(input.layer);
    const int experts = layer.experts.count;
    for (const std::string& matrix : matrices_of(input, layer)) {
      Columns& columns = columns_[fmt::format("blk.{}.{}.weight", input.layer, matrix)];
      const auto width = static_cast<std::size_t>(input.width);
      const bool stacked = input.expert >= 0;
      if (columns.rows.empty()) {
        columns.rows.resize(stacked ? static_cast<std::size_t>(experts) : 1);
        columns.squares.resize(columns.rows.size() * width);
      }
      const auto index = static_cast<std::size_t>(stacked ? input.expert : 0);
      columns.rows[index] += input.rows;
      add(input, std::span(columns.squares).subspan(index * width, width));
    }
  }

  ImportanceMatrix means(std::string source) const {
    ImportanceMatrix matrix(std::move(source));
    for (const auto& [name, columns] : columns_) {
      std::vector<float> means(columns.squares.size());
      const std::size_t width = means.size() / columns.rows.size();
      for (std::size_t i = 0; i < means.size(); ++i) {
        const std::int64_t rows = columns.rows[i / width];
        // Of an expert that no row chose nothing is known.
        means[i] = rows > 0 ? static_cast<float>(columns.squares[i] / static_cast<double>(rows)) : 1.0f;
      }
      if (name.ends_with(".ssm_out.weight")) means = in_files_order(std::move(means));
      matrix.set(name, std::move(means));
    }
    return matrix;
  }

 private:
  /// What a recurrence's last product reads.
  std::vector<float> in_files_order(std::vector<float> columns) const {
    const RecurrentSpec recurrent = config_.recurrent();
    return in_order(std::move(columns),
                    gguf_value_order(gguf_architecture_of(config_), recurrent, 0, recurrent.value_dim));
  }

  struct Columns {
    std::vector<std::int64_t> rows;  ///< [experts], or one
    std::vector<double> squares;     ///< [experts, width]
  };

  static void add(const ProductInput& input, std::span<double> squares) {
    for (int r = 0; r < input.rows; ++r) {
      for (std::size_t i = 0; i < squares.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(r * input.stride) + i;
        const float value = input.form == InputForm::BF16 ? to_float(static_cast<const BF16*>(input.x)[at])
                                                          : static_cast<const float*>(input.x)[at];
        squares[i] += static_cast<double>(value) * static_cast<double>(value);
      }
    }
  }

  const ModelConfig& config_;
  std::map<std::string, Columns> columns_;
};

}  // namespace

ImportanceMatrix calibrate(Model& model, std::span<const TokenId> text, std::string source,
                           const std::function<void(double)>& progress) {
  if (text.empty()) throw Error("{}: expected a text to calibrate with, found no tokens", source);
  const std::int64_t size = std::min(kTokens, model.context());
  Sums sums(model.config());
  PrefillOptions options;
  options.forward.inputs = &sums;
  const std::int64_t tokens = std::ssize(text);
  for (std::int64_t first = 0; first < tokens; first += size) {
    const std::int64_t count = std::min(size, tokens - first);
    KvCache cache = model.make_cache(size);
    prefill(model, text.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), cache,
            options);
    if (progress) progress(static_cast<double>(first + count) / static_cast<double>(tokens));
  }
  return sums.means(std::move(source));
}

}  // namespace augur

#pragma once
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "files/safetensors_writer.h"
#include "kernels/backend.h"
#include "kernels/ops.h"
#include "model/model.h"
#include "model/prefill.h"
#include "support/stories_answer.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace augur::testing_support {

inline std::filesystem::path stories_path() {
  return std::filesystem::path(AUGUR_SOURCE_DIR) / "models" / "stories260k";
}

inline std::string stories_known_answer() {
  return kStoriesKnownAnswer;
}

/// The small real model, on one kernel variant.
struct Stories {
  explicit Stories(Isa isa = select_isa(), int threads = 2)
      : backend(threads, false, isa),
        device(test_device(backend)),
        checkpoint(Checkpoint::open(stories_path())),
        tokenizer(checkpoint.load_tokenizer()),
        model(Model::load(backend, checkpoint, {.device = device.get()})) {}

  std::vector<TokenId> prompt(const std::string& text) const {
    std::vector<TokenId> ids = tokenizer->encode(text);
    ids.insert(ids.begin(), tokenizer->bos.value());
    return ids;
  }

  Backend backend;
  std::unique_ptr<Device> device;  ///< null: the host
  Checkpoint checkpoint;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
};

/// A copy of stories260k whose weights are disturbed by `noise` times their size: a drafter that is often
/// right and often wrong.
inline void write_disturbed_stories(const std::filesystem::path& folder, float noise) {
  namespace fs = std::filesystem;
  for (const char* name : {"config.json", "tokenizer.model"}) {
    fs::copy_file(stories_path() / name, folder / name, fs::copy_options::overwrite_existing);
  }
  const Checkpoint checkpoint = Checkpoint::open(stories_path());
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, tensor] : checkpoint.weights().tensors()) {
    entries.push_back({.name = name, .dtype = DType::F32, .shape = tensor.shape});
  }
  SafetensorsWriter writer(folder / "model.safetensors", entries);
  std::mt19937 random(42);
  std::normal_distribution<float> normal;
  for (const auto& [name, tensor] : checkpoint.weights().tensors()) {
    std::int64_t rows = 1;
    std::int64_t columns = tensor.shape.back();
    for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= tensor.shape[i];
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    read_rows(tensor, 0, rows, values.data());
    for (float& v : values) v *= 1.0f + noise * normal(random);
    writer.write(std::as_bytes(std::span(values)));
  }
  writer.finish();
}

/// log-probabilities of the token after `text`, by one plain forward from nothing.
inline std::vector<float> plain_log_probs(Model& model, std::span<const TokenId> text) {
  KvCache cache = model.make_cache();
  const std::span<const float> hidden = prefill(model, text, cache);
  const std::int64_t stride = (model.config().vocab + 15) / 16 * 16;
  Buffer<float> logits(static_cast<std::size_t>(stride));
  model.logits_of(hidden.data(), 1, false, logits.data(), stride);
  std::vector<float> out(logits.data(), logits.data() + model.config().vocab);
  const float lse = log_sum_exp(out.data(), static_cast<std::int64_t>(out.size()));
  for (float& v : out) v -= lse;
  return out;
}

}  // namespace augur::testing_support

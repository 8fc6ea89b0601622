#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "io/gguf/model.h"

namespace augur {

namespace {

constexpr std::array<std::string_view, 4> kArchitectures = {"llama", "qwen2", "qwen3", kHeadArchitecture};

class GgufStore final : public WeightStore {
 public:
  explicit GgufStore(std::shared_ptr<const GgufFile> file) : file_(std::move(file)) {
    description_ = file_->name();
    check_architecture();
    for (const auto& info : file_->tensor_infos()) {
      if (info.name == "rope_freqs.weight") continue;
      StoredTensor tensor = file_->tensor(info);
      if (file_->architecture() != kHeadArchitecture) tensor.name = hugging_face_name(info.name);
      if (file_->architecture() == "llama") mark_interleaved(info.name, tensor);
      const std::string key = tensor.name;
      if (!tensors_.emplace(key, std::move(tensor)).second) {
        throw Error("{}: two tensors mean {}", description_, key);
      }
    }
    check_overlaps();
  }

 private:
  void check_architecture() const {
    const auto& architecture = file_->architecture();
    if (file_->tensor_infos().empty()) throw Error("{}: holds a vocabulary only, no weights", description_);
    if (file_->find_int("split.count").value_or(1) > 1) {
      throw Error("{}: is one part of a split GGUF file; merge the parts first (llama-gguf-split --merge)",
                  description_);
    }
    if (std::find(kArchitectures.begin(), kArchitectures.end(), architecture) == kArchitectures.end()) {
      throw Error("{}: architecture {:?} is not supported (expected {})", description_, architecture,
                  fmt::join(kArchitectures, ", "));
    }
  }

  /// llama.cpp's converter interleaves the two rotary halves of each q and k head for this architecture.
  void mark_interleaved(std::string_view gguf_name, StoredTensor& tensor) const {
    const bool is_q = gguf_name.ends_with(".attn_q.weight") || gguf_name.ends_with(".attn_q.bias");
    const bool is_k = gguf_name.ends_with(".attn_k.weight") || gguf_name.ends_with(".attn_k.bias");
    if (!is_q && !is_k) return;
    const auto config_heads = file_->find_int("llama.attention.head_count").value_or(0);
    const auto heads =
        is_q ? config_heads : file_->find_int("llama.attention.head_count_kv").value_or(config_heads);
    const std::int64_t rows = tensor.shape.front();
    if (heads <= 0 || heads > rows || rows % heads != 0 || rows / heads % 2 != 0) {
      throw Error("{}: tensor {}: {} rows cannot be split into {} heads of even size", description_,
                  gguf_name, rows, heads);
    }
    tensor.interleaved_heads = static_cast<int>(heads);
  }

  void check_overlaps() const {
    std::vector<const StoredTensor*> by_place;
    for (const auto& [key, tensor] : tensors_) by_place.push_back(&tensor);
    std::sort(by_place.begin(), by_place.end(), [](const StoredTensor* a, const StoredTensor* b) {
      return std::pair(a->bytes.data(), a->bytes.size()) < std::pair(b->bytes.data(), b->bytes.size());
    });
    for (std::size_t i = 1; i < by_place.size(); ++i) {
      const auto& before = *by_place[i - 1];
      if (before.bytes.data() + before.bytes.size() > by_place[i]->bytes.data()) {
        throw Error("{}: tensor {} overlaps tensor {}", description_, by_place[i]->name, before.name);
      }
    }
  }

  std::shared_ptr<const GgufFile> file_;
};

}  // namespace

std::unique_ptr<WeightStore> open_gguf_weights(std::shared_ptr<const GgufFile> file) {
  return std::make_unique<GgufStore>(std::move(file));
}

}  // namespace augur

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "files/gguf/model.h"
#include "files/gguf/split.h"

namespace augur {

namespace {

class GgufStore final : public WeightStore {
 public:
  explicit GgufStore(std::shared_ptr<const GgufFile> file) : file_(std::move(file)) {
    description_ = file_->name();
    for (const GgufPart& part : file_->parts()) {
      if (part.mapping == nullptr) continue;
      identity_ += part.mapping->identity() + "\n";
    }
    check_architecture();
    const GgufArchitecture* architecture = gguf_architecture_of(*file_);  // null: a head
    const std::int64_t layers =
        architecture != nullptr && architecture->drafts ? gguf_layers(*file_) : INT64_MAX;
    for (const auto& info : file_->tensor_infos()) {
      if (is_rope_factors(info.name)) continue;
      StoredTensor tensor = file_->tensor(info);
      if (architecture != nullptr) {
        tensor.name = hugging_face_name(*architecture, info.name, layers);
        if (architecture->interleaved) mark_interleaved(info.name, tensor);
        tensor.offset = gguf_offset(*architecture, info.name);
        if (are_gguf_taps(info.name) && tensor.shape.size() == 2)
          tensor.shape.insert(tensor.shape.end() - 1, 1);
        if (architecture->mamba && is_vector_of_mamba(info.name) && tensor.shape.size() == 2)
          tensor.shape = {tensor.shape[0] * tensor.shape[1]};
      }
      const std::string key = tensor.name;
      if (!tensors_.emplace(key, std::move(tensor)).second) {
        throw Error("{}: two tensors mean {}", description_, key);
      }
    }
    check_layout();
  }

 private:
  void check_architecture() const {
    const auto& architecture = file_->architecture();
    if (file_->tensor_infos().empty()) throw Error("{}: holds a vocabulary only, no weights", description_);
    const auto parts = std::ssize(file_->parts());
    if (const auto count = file_->find_int(kSplitCountKey).value_or(1); count > 1 && count != parts) {
      throw Error("{}: {} is {}, {} of the parts is here", description_, kSplitCountKey, count, parts);
    }
    if (architecture != kHeadArchitecture && find_gguf_architecture(architecture) == nullptr) {
      std::string known;
      for (const GgufArchitecture& one : gguf_architectures()) known += fmt::format("{}, ", one.name);
      throw Error(ErrorKind::Unsupported, "{}: architecture {:?} is not supported (expected {}{})",
                  description_, architecture, known, kHeadArchitecture);
    }
  }

  static bool is_rope_factors(std::string_view name) {
    return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
           name == "rope_factors_short.weight";
  }

  void mark_interleaved(std::string_view gguf_name, StoredTensor& tensor) const {
    const bool is_q = gguf_name.ends_with(".attn_q.weight") || gguf_name.ends_with(".attn_q.bias");
    const bool is_k = gguf_name.ends_with(".attn_k.weight") || gguf_name.ends_with(".attn_k.bias");
    if (!is_q && !is_k) return;
    const std::string prefix = file_->architecture() + ".attention.";
    const auto config_heads = file_->find_int(prefix + "head_count").value_or(0);
    const auto heads = is_q ? config_heads : gguf_kv_heads(*file_).value_or(config_heads);
    const std::int64_t rows = tensor.shape.front();
    if (heads <= 0 || heads > rows || rows % heads != 0 || rows / heads % 2 != 0) {
      throw Error("{}: tensor {}: {} rows cannot be split into {} heads of even size", description_,
                  gguf_name, rows, heads);
    }
    tensor.interleaved_heads = static_cast<int>(heads);
  }

  /// Tensors fill the data area of a part one behind the other, each from the next multiple of the alignment:
  /// so the format has it, and so a type, a shape or an offset that is not what was written shows.
  void check_layout() const {
    std::vector<std::vector<Extent>> parts(file_->parts().size());
    for (const auto& info : file_->tensor_infos()) {
      const std::uint64_t end = info.offset + file_->tensor(info).bytes.size();
      parts[info.part].push_back({info.offset, end, info.name});
    }
    for (std::size_t i = 0; i < parts.size(); ++i) check_extents(file_->parts()[i], parts[i]);
  }

  struct Extent {
    std::uint64_t begin, end;
    std::string_view name;
  };

  static void check_extents(const GgufPart& part, std::vector<Extent>& extents) {
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    Extent before{0, 0, ""};
    const auto check = [&](std::uint64_t begin, std::string_view what) {
      if (begin < before.end) throw Error("{}: {} overlaps tensor {}", part.name, what, before.name);
      if (begin - before.end >= part.alignment) {
        throw Error(
            "{}: {} begins {} bytes behind tensor {:?}, less than {} were expected: the type, shape or "
            "offset of one of them is wrong",
            part.name, what, begin - before.end, before.name, part.alignment);
      }
    };
    for (const Extent& extent : extents) {
      check(extent.begin, fmt::format("tensor {}", extent.name));
      before = extent;
    }
    check(part.data.size(), "the end of the file");
  }

  std::shared_ptr<const GgufFile> file_;
};

}  // namespace

std::unique_ptr<WeightStore> open_gguf_weights(std::shared_ptr<const GgufFile> file) {
  return std::make_unique<GgufStore>(std::move(file));
}

}  // namespace augur

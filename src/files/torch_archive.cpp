// Format: https://pytorch.org/docs/stable/notes/serialization.html
#include "files/torch_archive.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "files/mapped_file.h"
#include "files/torch/zip_directory.h"

namespace augur {
namespace {

// A pickle may refer to one value many times or even contain itself, so what is walked, named and copied is
// bounded: by the pickle's own size, in which every reference takes a byte at least.
constexpr int kMaxDepth = 32;
constexpr std::size_t kFewValues = 1024;  ///< never too many
constexpr std::size_t kMaxTensors = std::size_t{1} << 19;
constexpr std::size_t kMaxNameLength = 1024;
constexpr std::size_t kMaxNameFactor = 16;  ///< all names together, against the pickle
/// Strided tensors are copied; together they may take this many times the file's own size.
constexpr std::uint64_t kMaxCopyFactor = 4;

constexpr std::string_view kAdvice =
    "re-save it with torch.save of a recent PyTorch or convert it to safetensors";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What a file that is no zip archive seems to be.
std::string describe_other(std::span<const std::byte> file) {
  using namespace std::string_view_literals;
  const std::string_view text = as_text(file.first(std::min<std::size_t>(file.size(), 512)));
  if (text.empty()) return "the file is empty";
  if (text.starts_with("version https://git-lfs"))
    return "a Git LFS pointer, not the file itself: fetch it with `git lfs pull`";
  if (text.starts_with("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46"sv) ||
      (text.size() >= 262 && text.substr(257, 5) == "ustar"))
    return fmt::format("the format that torch.save wrote before PyTorch 1.6; {}", kAdvice);
  if (text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
    return fmt::format("a bare Python pickle, not an archive of tensors; {}", kAdvice);
  if (text.starts_with("GGUF")) return "a GGUF file";
  if (text.starts_with("\x89HDF")) return "an HDF5 (Keras) file; convert it to safetensors";
  if (text.size() > 9 && text[8] == '{') return "a safetensors file by the look of it; name it .safetensors";
  if (text.starts_with("<")) return "an HTML or XML page, not a checkpoint: the download failed";
  return "not a PyTorch archive";
}

/// The zip entries of one torch.save() file.
class Archive {
 public:
  Archive(std::span<const std::byte> file, const std::string& name) : name_(name) {
    if (!looks_like_zip(file)) throw Error("{}: {}", name, describe_other(file));
    entries_ = read_zip_directory(file, name);
    constexpr std::string_view kPickle = "/data.pkl";
    for (const auto& [entry, content] : entries_) {
      if (!entry.ends_with(kPickle) || entry.find('/') != entry.size() - kPickle.size()) continue;
      if (!root_.empty()) throw Error("{}: holds both {}data.pkl and {}", name, root_, entry);
      root_ = entry.substr(0, entry.size() - kPickle.size() + 1);
      pickle_ = content.bytes;
    }
    if (root_.empty()) throw Error("{}: a zip archive without data.pkl: not written by torch.save", name);
    if (entries_.contains(root_ + "constants.pkl"))
      throw Error("{}: a TorchScript program, not a checkpoint; save the module's state_dict with torch.save",
                  name);
    for (const auto& [entry, content] : entries_)
      if (content.method != 0)
        throw Error(
            "{}: entry {} is compressed (method {}); PyTorch stores entries uncompressed: unpack the "
            "archive and pack it without compression, or {}",
            name, entry, content.method, kAdvice);
    if (const auto order = entries_.find(root_ + "byteorder"); order != entries_.end())
      if (const auto text = as_text(order->second.bytes); text != "little")
        throw Error("{}: byte order {}: only little-endian archives are read; {}", name,
                    text == "big" ? "big" : "unknown", kAdvice);
  }

  const std::string& name() const { return name_; }
  std::size_t pickle_bytes() const { return pickle_.size(); }
  Pickle values() const { return Pickle::parse(pickle_, name_); }

  std::span<const std::byte> storage(const Pickle::Storage& storage, const std::string& tensor) const {
    const auto entry = entries_.find(root_ + "data/" + storage.key);
    if (entry == entries_.end())
      throw Error("{}: tensor {}: the archive has no entry data/{}", name_, tensor, storage.key);
    const auto bytes = storage_bytes(storage.dtype, {storage.elements});
    if (!bytes || static_cast<std::uint64_t>(*bytes) != entry->second.bytes.size())
      throw Error("{}: tensor {}: data/{} holds {} bytes, not {} elements of {}", name_, tensor, storage.key,
                  entry->second.bytes.size(), storage.elements, augur::name(storage.dtype));
    return entry->second.bytes;
  }

 private:
  std::string name_;
  ZipEntries entries_;
  std::string root_;  ///< the archive's one folder, with its slash
  std::span<const std::byte> pickle_;
};

/// One past the highest element of the storage that the tensor touches; empty on overflow.
std::optional<std::int64_t> extent(const Pickle::Tensor& tensor) {
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t reach = 0;
    if (tensor.shape[i] == 0) return std::int64_t{0};
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.stride[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  if (last == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return last + 1;
}

bool is_contiguous(const Pickle::Tensor& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.stride[i] != expected) return false;
    expected *= tensor.shape[i];  // cannot overflow: the caller has checked the number of elements
  }
  return true;
}

/// Row-major copy. Every index lies inside `storage`: the caller has checked the extent.
void gather(const Pickle::Tensor& tensor, std::span<const std::byte> storage, std::byte* out) {
  const auto size = static_cast<std::size_t>(block_shape(tensor.storage->dtype).bytes);
  const std::size_t rank = tensor.shape.size();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t element = tensor.offset;
  while (true) {
    std::memcpy(out, storage.data() + static_cast<std::size_t>(element) * size, size);
    out += size;
    std::size_t axis = rank;
    while (axis-- > 0) {
      if (tensor.shape[axis] == 1) continue;  // its stride may be anything
      element += tensor.stride[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      element -= tensor.stride[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
    if (axis == std::numeric_limits<std::size_t>::max()) return;
  }
}

class TorchArchiveStore final : public WeightStore {
 public:
  TorchArchiveStore(std::optional<MappedFile> mapped, std::span<const std::byte> file,
                    const std::string& name)
      : mapped_(std::move(mapped)) {
    description_ = name;
    if (mapped_) identity_ = mapped_->identity();
    const Archive archive(file, name);
    const Pickle values = archive.values();
    copy_budget_ = kMaxCopyFactor * file.size();
    collect(archive, values, values.root(), {}, 0);
    if (tensors_.empty()) throw Error("{}: holds no tensors, only {}", name, Pickle::kind(values.root()));
  }

 private:
  void collect(const Archive& archive, const Pickle& values, const Pickle::Value& value,
               const std::string& path, int depth) {
    if (const std::size_t most = std::max(archive.pickle_bytes(), kFewValues); ++visited_ > most) {
      throw Error("{}: more than {} values, in a pickle of {} bytes: it lists the same ones again and again",
                  archive.name(), most, archive.pickle_bytes());
    }
    if (depth > kMaxDepth) throw Error("{}: values nested more than {} deep", archive.name(), kMaxDepth);
    if (path.size() > kMaxNameLength)
      throw Error("{}: a name longer than {} bytes", archive.name(), kMaxNameLength);
    const auto below = [&](Pickle::Ref child, const std::string& key) {
      collect(archive, values, values[child], path.empty() ? key : path + '.' + key, depth + 1);
    };
    const auto items = [&](const std::vector<Pickle::Ref>& children) {
      for (std::size_t i = 0; i < children.size(); ++i) below(children[i], std::to_string(i));
    };
    if (const auto* tensor = std::get_if<std::shared_ptr<const Pickle::Tensor>>(&value)) {
      add(archive, **tensor, path.empty() ? std::filesystem::path(archive.name()).stem().string() : path);
    } else if (const auto* dict = std::get_if<Pickle::Dict>(&value)) {
      for (const auto& [key, item] : dict->items) {
        if (const auto* text = std::get_if<std::string>(&values[key])) below(item, *text);
        if (const auto* number = std::get_if<std::int64_t>(&values[key]))
          below(item, std::to_string(*number));
      }
    } else if (const auto* list = std::get_if<Pickle::List>(&value)) {
      items(list->items);
    } else if (const auto* tuple = std::get_if<Pickle::Tuple>(&value)) {
      items(tuple->items);
    }
  }

  void add(const Archive& archive, const Pickle::Tensor& tensor, const std::string& name) {
    if (tensors_.size() >= kMaxTensors) throw Error("{}: more than {} tensors", archive.name(), kMaxTensors);
    name_bytes_ += name.size();
    if (name_bytes_ > kMaxNameFactor * archive.pickle_bytes()) {
      throw Error("{}: its tensors' names take more than {} times the pickle's {} bytes", archive.name(),
                  kMaxNameFactor, archive.pickle_bytes());
    }
    const auto storage = archive.storage(*tensor.storage, name);
    const auto needed = extent(tensor);
    const auto bytes = storage_bytes(tensor.storage->dtype, tensor.shape);
    if (!needed || !bytes || *needed > tensor.storage->elements)
      throw Error("{}: tensor {}: shape {}, strides {} and offset {} reach outside its {} stored elements",
                  archive.name(), name, to_string(tensor.shape), to_string(tensor.stride), tensor.offset,
                  tensor.storage->elements);
    StoredTensor stored{
        .name = name, .dtype = tensor.storage->dtype, .shape = tensor.shape, .file = archive.name()};
    const auto size = static_cast<std::size_t>(*bytes);
    if (size == 0) {
      stored.bytes = storage.first(0);
    } else if (is_contiguous(tensor)) {
      const int element = block_shape(stored.dtype).bytes;
      stored.bytes =
          storage.subspan(static_cast<std::size_t>(tensor.offset) * static_cast<std::size_t>(element), size);
    } else {
      if (size > copy_budget_)
        throw Error(
            "{}: tensor {}: its strides repeat elements far beyond the file's size; save it contiguous",
            archive.name(), name);
      copy_budget_ -= size;
      auto& copy = copies_.emplace_back(size);
      gather(tensor, storage, copy.data());
      stored.bytes = copy;
    }
    if (!tensors_.emplace(name, std::move(stored)).second)
      throw Error("{}: tensor {} appears twice", archive.name(), name);
  }

  std::optional<MappedFile> mapped_;
  std::vector<std::vector<std::byte>> copies_;  ///< of tensors whose elements do not lie in row-major order
  std::uint64_t copy_budget_ = 0;
  std::size_t visited_ = 0;
  std::size_t name_bytes_ = 0;
};

}  // namespace

std::unique_ptr<WeightStore> open_torch_archive(const std::filesystem::path& path) {
  MappedFile mapped(path);
  const auto bytes = mapped.bytes();  // stays valid when the mapping moves
  return std::make_unique<TorchArchiveStore>(std::move(mapped), bytes, path.string());
}

std::unique_ptr<WeightStore> parse_torch_archive(std::span<const std::byte> file, const std::string& name) {
  return std::make_unique<TorchArchiveStore>(std::nullopt, file, name);
}

Pickle read_torch_values(const std::filesystem::path& path) {
  const MappedFile mapped(path);
  return Archive(mapped.bytes(), path.string()).values();
}

std::vector<std::int64_t> read_torch_integers(const std::filesystem::path& path) {
  const Pickle values = read_torch_values(path);
  const std::vector<Pickle::Ref>* items = nullptr;
  if (const auto* list = std::get_if<Pickle::List>(&values.root())) items = &list->items;
  if (const auto* tuple = std::get_if<Pickle::Tuple>(&values.root())) items = &tuple->items;
  std::vector<std::int64_t> result;
  if (items) {
    for (const Pickle::Ref item : *items) {
      const auto* number = std::get_if<std::int64_t>(&values[item]);
      if (!number)
        throw Error("{}: expected a list of integers, item {} is {}", path.string(), result.size(),
                    Pickle::kind(values[item]));
      result.push_back(*number);
    }
    return result;
  }
  if (!std::holds_alternative<std::shared_ptr<const Pickle::Tensor>>(values.root()))
    throw Error("{}: expected a list of integers, found {}", path.string(), Pickle::kind(values.root()));
  const auto store = open_torch_archive(path);
  const StoredTensor& tensor = store->tensors().begin()->second;
  const bool wide = tensor.dtype == DType::I64;
  if (tensor.shape.size() != 1 || (!wide && tensor.dtype != DType::I32))
    throw Error("{}: expected a one-dimensional tensor of I64 or I32, found {} {}", path.string(),
                name(tensor.dtype), to_string(tensor.shape));
  result.resize(static_cast<std::size_t>(tensor.shape[0]));
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::int32_t narrow = 0;
    if (wide)
      std::memcpy(&result[i], tensor.bytes.data() + 8 * i, 8);
    else
      std::memcpy(&narrow, tensor.bytes.data() + 4 * i, 4), result[i] = narrow;
  }
  return result;
}

}  // namespace augur

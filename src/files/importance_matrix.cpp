#include "files/importance_matrix.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "files/gguf/gguf.h"
#include "files/mapped_file.h"

namespace augur {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

void check(const std::string& file, const std::string& name, const std::vector<float>& values) {
  for (const float value : values) {
    if (!(value >= 0 && value <= std::numeric_limits<float>::max()))
      throw Error("{}: {}: expected mean squares, found {}", file, name, value);
  }
}

/// Sums of squares by column, and by how many rows they are.
void read_gguf(const GgufFile& file, ImportanceMatrix& into) {
  if (const auto type = file.find_string("general.type"); type != "imatrix")
    throw Error("{}: general.type: expected \"imatrix\", found {:?}", file.name(), type.value_or(""));
  for (const GgufTensorInfo& info : file.tensor_infos()) {
    if (!std::string_view(info.name).ends_with(kSums)) continue;
    const std::string name = info.name.substr(0, info.name.size() - kSums.size());
    const GgufTensorInfo* counts_info = file.find_tensor(name + std::string(kCounts));
    if (counts_info == nullptr) throw Error("{}: tensor {}{} is missing", file.name(), name, kCounts);
    const StoredTensor sums = file.tensor(info);
    const StoredTensor counts = file.tensor(*counts_info);
    for (const StoredTensor* tensor : {&sums, &counts}) {
      if (tensor->dtype != DType::F32)
        throw Error("{}: tensor {}: expected F32, found {}", file.name(), tensor->name,
                    augur::name(tensor->dtype));
    }
    const auto values = static_cast<std::int64_t>(sums.bytes.size() / sizeof(float));
    const auto matrices = static_cast<std::int64_t>(counts.bytes.size() / sizeof(float));
    if (matrices == 0 || values % matrices != 0) {
      throw Error("{}: tensor {}: {} counts for {} sums", file.name(), counts.name, matrices, values);
    }
    std::vector<float> means(static_cast<std::size_t>(values));
    std::memcpy(means.data(), sums.bytes.data(), sums.bytes.size());
    for (std::int64_t m = 0; m < matrices; ++m) {
      float count = 0;
      std::memcpy(&count, counts.bytes.data() + static_cast<std::size_t>(m) * sizeof count, sizeof count);
      for (std::int64_t i = m * (values / matrices); i < (m + 1) * (values / matrices); ++i) {
        float& mean = means[static_cast<std::size_t>(i)];
        mean = count > 0 ? mean / count : 1.0f;  // an expert that no row chose: nothing is known
      }
    }
    check(file.name(), info.name, means);
    into.set(name, std::move(means));
  }
}

/// The older form: number of entries, then each one's name, calls, and sums of mean squares over the calls.
class DatReader {
 public:
  explicit DatReader(const MappedFile& file, std::string name)
      : rest_(file.bytes()), size_(rest_.size()), name_(std::move(name)) {}

  void read(ImportanceMatrix& into) {
    const std::int32_t entries = number("the number of entries");
    for (std::int32_t e = 0; e < entries; ++e) {
      const std::string what = fmt::format("entry {}", e);
      const auto letters = take(what, number(what), 1);
      const std::string name(reinterpret_cast<const char*>(letters.data()), letters.size());
      const std::int32_t calls = number(name);
      const auto bytes = take(name, number(name), sizeof(float));
      std::vector<float> means(bytes.size() / sizeof(float));
      std::memcpy(means.data(), bytes.data(), bytes.size());
      if (calls > 0) {
        for (float& mean : means) mean /= static_cast<float>(calls);
      }
      check(name_, name, means);
      into.set(name, std::move(means));
    }
  }

 private:
  std::span<const std::byte> take(const std::string& what, std::int32_t count, std::size_t size) {
    if (count < 0 || static_cast<std::size_t>(count) > rest_.size() / size) {
      throw Error(
          "{}: {} at byte {}: {} values do not fit into what is left of the file: expected an importance "
          "matrix",
          name_, what, size_ - rest_.size(), count);
    }
    const auto taken = rest_.first(static_cast<std::size_t>(count) * size);
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::int32_t number(const std::string& what) {
    std::int32_t value = 0;
    std::memcpy(&value, take(what, 1, sizeof value).data(), sizeof value);
    return value;
  }

  std::span<const std::byte> rest_;
  std::size_t size_;
  std::string name_;
};

}  // namespace

ImportanceMatrix ImportanceMatrix::read(const std::filesystem::path& path) {
  ImportanceMatrix matrix;
  matrix.source_ = path.string();
  if (is_gguf_file(path)) {
    read_gguf(GgufFile::open(path), matrix);
  } else {
    const MappedFile file(path);
    DatReader(file, path.string()).read(matrix);
  }
  if (matrix.entries_.empty())
    throw Error("{}: expected an importance matrix, found no entries", path.string());
  return matrix;
}

std::span<const float> ImportanceMatrix::of(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? std::span<const float>() : std::span<const float>(entry->second);
}

}  // namespace augur

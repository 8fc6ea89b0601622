#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// What the columns of a model's matrices matter: the mean square of what each is multiplied with, over some
/// text. By the name that GGUF gives the matrix ("blk.0.attn_q.weight"); of stacked matrices (experts) one
/// row after the other.
class ImportanceMatrix {
 public:
  ImportanceMatrix() = default;
  /// Empty, of what messages call `source`.
  explicit ImportanceMatrix(std::string source) : source_(std::move(source)) {}
  /// As llama-imatrix writes it: GGUF, or the older .dat file. Error naming the file and entry for anything
  /// that is malformed, negative or no number.
  static ImportanceMatrix read(const std::filesystem::path& path);

  void set(std::string name, std::vector<float> mean_squares) {
    entries_[std::move(name)] = std::move(mean_squares);
  }
  /// Empty: nothing is known of that matrix.
  std::span<const float> of(std::string_view name) const;
  std::size_t size() const { return entries_.size(); }
  const std::string& source() const { return source_; }  ///< for messages

 private:
  std::string source_;
  std::map<std::string, std::vector<float>, std::less<>> entries_;
};

}  // namespace augur

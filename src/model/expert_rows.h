#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/layer_spec.h"

namespace augur {

/// Which experts the rows of a pass go to in one layer. A row's experts and their shares depend on its own
/// scores only. Reused from layer to layer.
class ExpertRows {
 public:
  /// Room for so many rows of a layer: until then nothing else here allocates, as it must not where the rows
  /// are routed (ThreadPool::run).
  void reserve(const ExpertSpec& spec, std::int64_t rows);
  /// Takes `rows` rows; nothing is routed yet.
  void reset(const ExpertSpec& spec, int rows);
  /// Chooses for one row: scores [spec.count], which may be overwritten; the better first, equal ones by
  /// index. `bias` [spec.count]: with ExpertSpec::chosen_by_bias. Any thread, each row once.
  void route(int row, float* scores, const float* bias);
  /// Orders what was chosen by expert. When all rows are routed.
  void group();

  /// Places of an expert's rows, one after the other, in the buffers of what experts read and give.
  struct Group {
    int expert = 0;
    int first = 0;
    int rows = 0;
  };
  std::span<const Group> groups() const { return groups_; }  ///< those that have rows
  int places() const { return rows_ * spec_.active; }
  int row_at(int place) const { return row_at_[static_cast<std::size_t>(place)]; }
  /// The place of a row's `choice`-th expert, and its share of the result.
  int place(int row, int choice) const { return place_[index(row, choice)]; }
  float share(int row, int choice) const { return shares_[index(row, choice)]; }

 private:
  void share_by_softmax(const float* scores, const int* chosen, float* shares) const;
  void share_by_sigmoid(const float* scores, const int* chosen, float* shares) const;
  std::size_t index(int row, int choice) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(spec_.active) +
           static_cast<std::size_t>(choice);
  }

  ExpertSpec spec_;
  int rows_ = 0;
  std::vector<int> chosen_;    ///< [rows, active]
  std::vector<float> shares_;  ///< [rows, active]
  std::vector<int> place_;     ///< [rows, active]
  std::vector<int> row_at_;    ///< [rows * active]
  std::vector<int> counts_;    ///< [experts]
  std::vector<Group> groups_;
};

}  // namespace augur

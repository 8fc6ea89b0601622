#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace augur {

/// What a pickle written by torch.save() describes, read as data. Only the opcodes, and only the few names of
/// Python objects, that tensors, dicts, lists, tuples, strings and numbers need are known; anything else is
/// an Error that says what was found. No code is ever run. Own code: libtorch's reader is libtorch, which the
/// engine does without.
///
/// Values live in one array and refer to each other by index, because a pickle may share a value or even
/// contain itself: whoever walks it must bound depth and count.
class Pickle {
 public:
  using Ref = std::uint32_t;

  struct None {};
  struct List {
    std::vector<Ref> items;
  };
  struct Tuple {
    std::vector<Ref> items;
  };
  /// dict and collections.OrderedDict, in insertion order; a key set twice appears twice.
  struct Dict {
    std::vector<std::pair<Ref, Ref>> items;
  };
  /// A flat array in the archive, shared by the tensors that view it.
  struct Storage {
    std::string key;  ///< its entry is <archive>/data/<key>
    DType dtype = DType::F32;
    std::int64_t elements = 0;
  };
  /// A strided view of a storage, exactly as written: nothing is checked against the storage's size here.
  struct Tensor {
    std::shared_ptr<const Storage> storage;
    std::int64_t offset = 0;           ///< in elements
    std::vector<std::int64_t> shape;   ///< each >= 0
    std::vector<std::int64_t> stride;  ///< in elements, each >= 0, as many as shape
  };
  /// An allowed Python name (a class or function); never part of a finished value.
  struct Global {
    enum class Kind : std::uint8_t { OrderedDict, RebuildTensor, RebuildParameter, Size, StorageType } kind;
    DType dtype = DType::F32;  ///< of a StorageType
  };

  using Value = std::variant<None, bool, std::int64_t, double, std::string, List, Tuple, Dict,
                             std::shared_ptr<const Tensor>, std::shared_ptr<const Storage>, Global>;

  /// Protocols 2 to 5. `file` names the source in messages.
  static Pickle parse(std::span<const std::byte> bytes, std::string_view file);

  const Value& root() const { return values_[root_]; }
  const Value& operator[](Ref ref) const { return values_[ref]; }
  /// The value of a string key (the last one set), or null when `value` is no dict or has no such key.
  const Value* find(const Value& value, std::string_view key) const;
  /// "a list", "a dict", ...: for messages.
  static std::string_view kind(const Value& value);

 private:
  friend class PickleReader;
  std::vector<Value> values_;
  Ref root_ = 0;
};

}  // namespace augur

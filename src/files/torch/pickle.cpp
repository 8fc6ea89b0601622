#include "files/torch/pickle.h"

#include <array>
#include <bit>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "files/torch/pickle_opcodes.h"

namespace augur {
namespace {

// Bounds on what one pickle may make us allocate: far above any checkpoint's, far below a machine's memory.
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxValues = std::size_t{4} << 20;
constexpr std::size_t kMaxObjects = std::size_t{1} << 19;
constexpr std::size_t kMaxRank = 16;
constexpr std::size_t kMaxStorageKey = 128;

struct AllowedGlobal {
  std::string_view module, name;
  Pickle::Global global;
};

constexpr std::array kAllowedGlobals = {
    AllowedGlobal{"collections", "OrderedDict", {Pickle::Global::Kind::OrderedDict}},
    AllowedGlobal{"torch._utils", "_rebuild_tensor", {Pickle::Global::Kind::RebuildTensor}},
    AllowedGlobal{"torch._utils", "_rebuild_tensor_v2", {Pickle::Global::Kind::RebuildTensor}},
    AllowedGlobal{"torch._utils", "_rebuild_parameter", {Pickle::Global::Kind::RebuildParameter}},
    AllowedGlobal{"torch._utils", "_rebuild_parameter_with_state", {Pickle::Global::Kind::RebuildParameter}},
    AllowedGlobal{"torch", "Size", {Pickle::Global::Kind::Size}},
    AllowedGlobal{"torch", "DoubleStorage", {Pickle::Global::Kind::StorageType, DType::F64}},
    AllowedGlobal{"torch", "FloatStorage", {Pickle::Global::Kind::StorageType, DType::F32}},
    AllowedGlobal{"torch", "HalfStorage", {Pickle::Global::Kind::StorageType, DType::F16}},
    AllowedGlobal{"torch", "BFloat16Storage", {Pickle::Global::Kind::StorageType, DType::BF16}},
    AllowedGlobal{"torch", "LongStorage", {Pickle::Global::Kind::StorageType, DType::I64}},
    AllowedGlobal{"torch", "IntStorage", {Pickle::Global::Kind::StorageType, DType::I32}},
    AllowedGlobal{"torch", "ShortStorage", {Pickle::Global::Kind::StorageType, DType::I16}},
    AllowedGlobal{"torch", "CharStorage", {Pickle::Global::Kind::StorageType, DType::I8}},
    AllowedGlobal{"torch", "ByteStorage", {Pickle::Global::Kind::StorageType, DType::U8}},
    AllowedGlobal{"torch", "BoolStorage", {Pickle::Global::Kind::StorageType, DType::Bool}},
};

/// A name from the file, made fit for a message.
std::string printable(std::string_view text) {
  constexpr std::size_t kMax = 80;
  std::string out;
  for (const char c : text.substr(0, kMax)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kMax ? out + "..." : out;
}

}  // namespace

/// The pickle machine: a stack of references to values, marks in it, and a memo.
class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  Pickle run() {
    if (bytes_.size() > kMaxBytes) fail("is {} bytes long; at most {} are read", bytes_.size(), kMaxBytes);
    if (bytes_.size() < 2 || std::to_integer<unsigned>(bytes_[0]) != pickle_op::PROTO)
      fail("does not begin as a pickle of protocol 2 to 5");
    while (!step()) {
    }
    if (at_ != bytes_.size()) fail("{} bytes follow its end", bytes_.size() - at_);
    if (!marks_.empty() || stack_.size() != 1) fail("ends with {} values instead of one", stack_.size());
    pickle_.root_ = stack_[0];
    return std::move(pickle_);
  }

 private:
  using Ref = Pickle::Ref;
  using Value = Pickle::Value;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{}: pickle, byte {}: {}", file_, op_at_, fmt::format(format, std::forward<Args>(args)...));
  }

  // --- bytes ---
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("ends in the middle of a value");
    const auto view = bytes_.subspan(at_, count);
    at_ += count;
    return view;
  }
  std::uint64_t number(std::size_t length) {
    std::uint64_t value = 0;
    const auto view = take(length);
    for (std::size_t i = length; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(view[i]);
    return value;
  }
  std::string text(std::uint64_t length) {
    const auto view = take(length);
    return {reinterpret_cast<const char*>(view.data()), view.size()};
  }
  std::string line() {
    const std::size_t begin = at_;
    while (std::to_integer<char>(take(1)[0]) != '\n') {
    }
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin - 1};
  }

  // --- stack ---
  void push(Value value) {
    if (pickle_.values_.size() >= kMaxValues) fail("more than {} values", kMaxValues);
    pickle_.values_.push_back(std::move(value));
    push_ref(static_cast<Ref>(pickle_.values_.size() - 1));
  }
  void push_ref(Ref ref) {
    if (stack_.size() >= kMaxValues) fail("more than {} values", kMaxValues);
    stack_.push_back(ref);
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Ref top() const {
    if (stack_.size() <= floor()) fail("a value is missing");
    return stack_.back();
  }
  Ref pop() {
    const Ref ref = top();
    stack_.pop_back();
    return ref;
  }
  /// Everything above the last mark, which goes.
  std::vector<Ref> pop_marked() {
    if (marks_.empty()) fail("a mark is missing");
    std::vector<Ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  /// The value as a T, or an error saying what it should have been.
  template <class T>
  T& as(Ref ref, std::string_view what) {
    T* value = std::get_if<T>(&pickle_.values_[ref]);
    if (!value) fail("{} where {} is expected", Pickle::kind(pickle_.values_[ref]), what);
    return *value;
  }

  // --- memo ---
  void put(std::uint64_t index) {
    if (memo_.size() >= kMaxValues) fail("more than {} memos", kMaxValues);
    memo_[index] = top();
  }
  void get(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("memo {} was never set", index);
    push_ref(found->second);
  }

  // --- opcodes ---
  void integer(std::uint64_t length) {
    if (length > 8) fail("an integer of {} bytes; at most 8 are read", length);
    std::uint64_t value = number(length);
    const auto unused = 64 - 8 * length;
    const auto bits = length == 0 ? std::int64_t{0} : static_cast<std::int64_t>(value << unused) >> unused;
    push(bits);
  }
  void real() {
    std::uint64_t bits = 0;  // the one big-endian field
    for (const std::byte b : take(8)) bits = bits << 8 | std::to_integer<std::uint64_t>(b);
    push(std::bit_cast<double>(bits));
  }
  void tuple(std::size_t count) {
    std::vector<Ref> items(count);
    while (count > 0) items[--count] = pop();
    push(Pickle::Tuple{std::move(items)});
  }
  void append(std::vector<Ref> items) {
    auto& list = as<Pickle::List>(top(), "a list").items;
    list.insert(list.end(), items.begin(), items.end());
  }
  void set_items(const std::vector<Ref>& items) {
    if (items.size() % 2 != 0) fail("a key without a value");
    auto& dict = as<Pickle::Dict>(top(), "a dict").items;
    for (std::size_t i = 0; i < items.size(); i += 2) dict.emplace_back(items[i], items[i + 1]);
  }
  void global(const std::string& module, const std::string& name) {
    for (const auto& allowed : kAllowedGlobals)
      if (allowed.module == module && allowed.name == name) return push(allowed.global);
    fail(
        "refers to the Python object {}.{}, which tensors do not need; nothing is run from a checkpoint: "
        "re-save "
        "only the tensors (a state_dict) with torch.save, or convert them to safetensors",
        printable(module), printable(name));
  }
  /// ("storage", type, key, location, number of elements) -> the storage.
  void persistent_id() {
    const auto& id = as<Pickle::Tuple>(pop(), "a storage's id").items;
    if (++objects_ > kMaxObjects) fail("more than {} storages and tensors", kMaxObjects);
    if (id.size() != 5 || as<std::string>(id[0], "the word storage") != "storage")
      fail("not the id of a storage");
    const auto& type = as<Pickle::Global>(id[1], "a storage type");
    if (type.kind != Pickle::Global::Kind::StorageType) fail("not a storage type");
    const auto& key = as<std::string>(id[2], "a storage's key");
    const auto elements = as<std::int64_t>(id[4], "a storage's size");
    if (key.size() > kMaxStorageKey || elements < 0)
      fail("the storage {} has {} elements", printable(key), elements);
    push(std::make_shared<const Pickle::Storage>(Pickle::Storage{key, type.dtype, elements}));
  }
  std::vector<std::int64_t> dimensions(Ref ref) {
    const auto& items = as<Pickle::Tuple>(ref, "a tensor's dimensions").items;
    if (items.size() > kMaxRank)
      fail("a tensor of {} dimensions; at most {} are read", items.size(), kMaxRank);
    std::vector<std::int64_t> result;
    for (const Ref item : items) {
      const auto value = as<std::int64_t>(item, "a dimension");
      if (value < 0) fail("a negative dimension or stride {}", value);
      result.push_back(value);
    }
    return result;
  }
  void tensor(const std::vector<Ref>& arguments) {
    // (storage, offset, shape, stride[, requires_grad, hooks[, metadata]]): what follows is for training.
    if (arguments.size() < 4) fail("a tensor with {} arguments", arguments.size());
    if (++objects_ > kMaxObjects) fail("more than {} storages and tensors", kMaxObjects);
    Pickle::Tensor tensor;
    tensor.storage = as<std::shared_ptr<const Pickle::Storage>>(arguments[0], "a storage");
    tensor.offset = as<std::int64_t>(arguments[1], "a tensor's offset");
    tensor.shape = dimensions(arguments[2]);
    tensor.stride = dimensions(arguments[3]);
    if (tensor.offset < 0) fail("a negative tensor offset {}", tensor.offset);
    if (tensor.shape.size() != tensor.stride.size())
      fail("a tensor with {} dimensions and {} strides", tensor.shape.size(), tensor.stride.size());
    push(std::make_shared<const Pickle::Tensor>(std::move(tensor)));
  }
  void reduce() {
    const auto& arguments = as<Pickle::Tuple>(pop(), "arguments").items;
    const auto callee = as<Pickle::Global>(pop(), "an allowed class or function");
    switch (callee.kind) {
      case Pickle::Global::Kind::OrderedDict:
        if (!arguments.empty()) fail("an OrderedDict made from arguments");
        return push(Pickle::Dict{});
      case Pickle::Global::Kind::RebuildTensor:
        return tensor(arguments);
      case Pickle::Global::Kind::RebuildParameter:
        if (arguments.empty()) fail("a parameter without data");
        as<std::shared_ptr<const Pickle::Tensor>>(arguments[0], "a tensor");
        return push_ref(arguments[0]);
      case Pickle::Global::Kind::Size:
        if (arguments.size() != 1) fail("a torch.Size with {} arguments", arguments.size());
        as<Pickle::Tuple>(arguments[0], "a tuple");
        return push_ref(arguments[0]);
      case Pickle::Global::Kind::StorageType:
        break;
    }
    fail("a storage made outside the archive");
  }
  /// torch.save(module.state_dict()) sets the attribute _metadata on the OrderedDict: versions of modules,
  /// which say nothing about the tensors.
  void build() {
    pop();
    as<Pickle::Dict>(top(), "a dict, the only object whose attributes are skipped,");
  }

  /// One opcode; true at the end.
  bool step() {
    op_at_ = at_;
    const auto op = std::to_integer<unsigned char>(take(1)[0]);
    switch (op) {
      case pickle_op::PROTO: {
        const auto version = number(1);
        if (op_at_ != 0 || version < 2 || version > 5) fail("protocol {}; 2 to 5 are read", version);
        break;
      }
      case pickle_op::FRAME:
        if (number(8) > bytes_.size() - at_) fail("ends in the middle of a frame");
        break;
      case pickle_op::STOP:
        return true;
      case pickle_op::MARK:
        if (marks_.size() >= kMaxValues) fail("more than {} marks", kMaxValues);
        marks_.push_back(stack_.size());
        break;
      case pickle_op::NONE:
        push(Pickle::None{});
        break;
      case pickle_op::NEWTRUE:
        push(true);
        break;
      case pickle_op::NEWFALSE:
        push(false);
        break;
      case pickle_op::BININT:
        push(std::int64_t{static_cast<std::int32_t>(number(4))});
        break;
      case pickle_op::BININT1:
        push(static_cast<std::int64_t>(number(1)));
        break;
      case pickle_op::BININT2:
        push(static_cast<std::int64_t>(number(2)));
        break;
      case pickle_op::LONG1:
        integer(number(1));
        break;
      case pickle_op::LONG4:
        integer(number(4));
        break;
      case pickle_op::BINFLOAT:
        real();
        break;
      case pickle_op::SHORT_BINUNICODE:
        push(text(number(1)));
        break;
      case pickle_op::BINUNICODE:
        push(text(number(4)));
        break;
      case pickle_op::BINUNICODE8:
        push(text(number(8)));
        break;
      case pickle_op::EMPTY_DICT:
        push(Pickle::Dict{});
        break;
      case pickle_op::EMPTY_LIST:
        push(Pickle::List{});
        break;
      case pickle_op::EMPTY_TUPLE:
        push(Pickle::Tuple{});
        break;
      case pickle_op::TUPLE:
        push(Pickle::Tuple{pop_marked()});
        break;
      case pickle_op::TUPLE1:
        tuple(1);
        break;
      case pickle_op::TUPLE2:
        tuple(2);
        break;
      case pickle_op::TUPLE3:
        tuple(3);
        break;
      case pickle_op::APPEND:
        append({pop()});
        break;
      case pickle_op::APPENDS:
        append(pop_marked());
        break;
      case pickle_op::SETITEM: {
        const Ref value = pop(), key = pop();
        set_items({key, value});
        break;
      }
      case pickle_op::SETITEMS:
        set_items(pop_marked());
        break;
      case pickle_op::BINPUT:
        put(number(1));
        break;
      case pickle_op::LONG_BINPUT:
        put(number(4));
        break;
      case pickle_op::MEMOIZE:
        put(memo_.size());
        break;
      case pickle_op::BINGET:
        get(number(1));
        break;
      case pickle_op::LONG_BINGET:
        get(number(4));
        break;
      case pickle_op::GLOBAL: {
        const std::string module = line();
        global(module, line());
        break;
      }
      case pickle_op::STACK_GLOBAL: {
        const Ref name = pop(), module = pop();
        // Copies: global() adds a value, which may move the others.
        global(std::string(as<std::string>(module, "a module's name")),
               std::string(as<std::string>(name, "a name")));
        break;
      }
      case pickle_op::BINPERSID:
        persistent_id();
        break;
      case pickle_op::REDUCE:
        reduce();
        break;
      case pickle_op::BUILD:
        build();
        break;
      default:
        fail("the opcode {}, which tensors do not need, is refused", pickle_opcode_name(op));
    }
    return false;
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::size_t op_at_ = 0;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Ref> memo_;
  std::size_t objects_ = 0;
  Pickle pickle_;
};

Pickle Pickle::parse(std::span<const std::byte> bytes, std::string_view file) {
  return PickleReader(bytes, file).run();
}

const Pickle::Value* Pickle::find(const Value& value, std::string_view key) const {
  const auto* dict = std::get_if<Dict>(&value);
  if (!dict) return nullptr;
  for (auto item = dict->items.rbegin(); item != dict->items.rend(); ++item)
    if (const auto* name = std::get_if<std::string>(&values_[item->first]); name && *name == key)
      return &values_[item->second];
  return nullptr;
}

std::string_view Pickle::kind(const Value& value) {
  struct Namer {
    std::string_view operator()(const None&) const { return "None"; }
    std::string_view operator()(bool) const { return "a bool"; }
    std::string_view operator()(std::int64_t) const { return "an integer"; }
    std::string_view operator()(double) const { return "a float"; }
    std::string_view operator()(const std::string&) const { return "a string"; }
    std::string_view operator()(const List&) const { return "a list"; }
    std::string_view operator()(const Tuple&) const { return "a tuple"; }
    std::string_view operator()(const Dict&) const { return "a dict"; }
    std::string_view operator()(const std::shared_ptr<const Tensor>&) const { return "a tensor"; }
    std::string_view operator()(const std::shared_ptr<const Storage>&) const { return "a storage"; }
    std::string_view operator()(const Global&) const { return "a class"; }
  };
  return std::visit(Namer{}, value);
}

}  // namespace augur

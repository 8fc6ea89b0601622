// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "files/gguf/gguf.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "files/gguf/ggml_types.h"

namespace augur {

namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr int kMaxArrayDepth = 4;
constexpr int kMaxDimensions = 4;  // ggml's
constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxAlignment = 1 << 20;

/// Bytes of a scalar; 0 for strings and arrays.
std::uint64_t scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::U8:
    case GgufType::I8:
    case GgufType::Bool:
      return 1;
    case GgufType::U16:
    case GgufType::I16:
      return 2;
    case GgufType::U32:
    case GgufType::I32:
    case GgufType::F32:
      return 4;
    case GgufType::U64:
    case GgufType::I64:
    case GgufType::F64:
      return 8;
    case GgufType::String:
    case GgufType::Array:
      break;
  }
  return 0;
}

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// Reads forward; every step is checked against the end.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t position() const { return position_; }
  std::uint64_t left() const { return bytes_.size() - position_; }

  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > left()) {
      throw Error("{}: truncated: {} at byte {} takes {} bytes, {} are left", file_, what, position_, count,
                  left());
    }
    const auto result = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return result;
  }
  template <class T>
  T number(std::string_view what) {
    return load<T>(take(sizeof(T), what).data());
  }
  std::span<const std::byte> string(std::string_view what) { return take(number<std::uint64_t>(what), what); }
  /// A count of things that take at least `least` bytes each in what follows.
  std::uint64_t count(std::uint64_t least, std::string_view what) {
    const auto n = number<std::uint64_t>(what);
    if (n > left() / least)
      throw Error("{}: {}: {} cannot lie in the {} bytes that follow", file_, what, n, left());
    return n;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::size_t position_ = 0;
};

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

GgufType read_type(Cursor& in, const std::string& file, std::string_view key) {
  const auto type = in.number<std::uint32_t>(key);
  if (type > static_cast<std::uint32_t>(GgufType::F64)) {
    throw Error(ErrorKind::Unsupported, "{}: {}: unknown metadata type {}", file, key, type);
  }
  return static_cast<GgufType>(type);
}

GgufValue read_value(Cursor& in, const std::string& file, std::string_view key, GgufType type, int depth) {
  GgufValue value;
  value.type = type;
  if (type == GgufType::String) {
    value.bytes = in.string(key);
    return value;
  }
  if (type != GgufType::Array) {
    value.bytes = in.take(scalar_bytes(type), key);
    return value;
  }
  if (depth == kMaxArrayDepth) throw Error("{}: {}: arrays nested deeper than {}", file, key, kMaxArrayDepth);
  value.element = read_type(in, file, key);
  const std::uint64_t size = scalar_bytes(value.element);
  // The shortest string is its length, the shortest array a type and a length.
  const std::uint64_t least = size != 0 ? size : value.element == GgufType::String ? 8 : 12;
  value.count = in.count(least, key);
  if (size != 0) {
    value.bytes = in.take(value.count * size, key);
    return value;
  }
  Cursor start = in;
  const std::size_t from = in.position();
  for (std::uint64_t i = 0; i < value.count; ++i) read_value(in, file, key, value.element, depth + 1);
  value.bytes = start.take(in.position() - from, key);
  return value;
}

GgufTensorInfo read_tensor_info(Cursor& in, const std::string& file) {
  GgufTensorInfo info;
  info.name = text(in.string("a tensor's name"));
  const auto dimensions = in.number<std::uint32_t>(info.name);
  if (dimensions < 1 || dimensions > kMaxDimensions) {
    throw Error("{}: tensor {}: expected 1 to {} dimensions, found {}", file, info.name, kMaxDimensions,
                dimensions);
  }
  std::int64_t elements = 1;
  info.shape.resize(dimensions);
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = in.number<std::int64_t>(info.name);
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
      throw Error("{}: tensor {}: its dimensions are negative or too large", file, info.name);
    }
    info.shape[dimensions - 1 - i] = size;
  }
  info.type = in.number<std::uint32_t>(info.name);
  info.offset = in.number<std::uint64_t>(info.name);
  return info;
}

/// One integer of any integer type at p. False when it does not fit or the type is another.
bool load_int(GgufType type, const std::byte* p, std::int64_t& out) {
  switch (type) {
    case GgufType::U8:
      out = load<std::uint8_t>(p);
      return true;
    case GgufType::I8:
      out = load<std::int8_t>(p);
      return true;
    case GgufType::U16:
      out = load<std::uint16_t>(p);
      return true;
    case GgufType::I16:
      out = load<std::int16_t>(p);
      return true;
    case GgufType::U32:
      out = load<std::uint32_t>(p);
      return true;
    case GgufType::I32:
      out = load<std::int32_t>(p);
      return true;
    case GgufType::I64:
      out = load<std::int64_t>(p);
      return true;
    case GgufType::U64: {
      const auto value = load<std::uint64_t>(p);
      out = static_cast<std::int64_t>(value);
      return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    }
    default:
      return false;
  }
}

/// The double that a float32's shortest decimal form reads as: 1e-05f gives 1e-05, as config.json has it.
double shortest_decimal(float v) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr;
  double result = 0;
  std::from_chars(digits.data(), end, result);
  return result;
}

}  // namespace

std::string_view name(GgufType type) {
  constexpr std::array<std::string_view, 13> kNames = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                       "int32",  "float32", "bool",   "string", "array",
                                                       "uint64", "int64",   "float64"};
  return kNames[static_cast<std::size_t>(type)];
}

GgufFile GgufFile::read(std::shared_ptr<const MappedFile> file) {
  GgufFile read = parse(file->bytes(), file->path());
  read.parts_.front().mapping = std::move(file);
  return read;
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, std::string name) {
  GgufFile file;
  GgufPart& self = file.parts_.emplace_back();
  self.name = std::move(name);
  Cursor in(bytes, self.name);
  if (in.number<std::uint32_t>("the magic number") != kMagic) throw Error("{}: not a GGUF file", self.name);
  file.version_ = in.number<std::uint32_t>("the version");
  if (file.version_ != 0 && (file.version_ & 0xffff) == 0) {
    throw Error(ErrorKind::Unsupported, "{}: big-endian GGUF files are not supported", self.name);
  }
  if (file.version_ != 2 && file.version_ != 3) {
    throw Error(ErrorKind::Unsupported, "{}: GGUF version {} is not supported (expected 2 or 3)", self.name,
                file.version_);
  }
  const auto tensor_count = in.count(8 + 4 + 8 + 4 + 8, "the number of tensors");
  const auto metadata_count = in.count(8 + 4 + 1, "the number of metadata entries");
  for (std::uint64_t i = 0; i < metadata_count; ++i) {
    const auto key = text(in.string("a metadata key"));
    if (key.size() > kMaxKeyBytes) throw Error("{}: a metadata key of {} bytes", self.name, key.size());
    const GgufType type = read_type(in, self.name, key);
    const GgufValue value = read_value(in, self.name, key, type, 0);
    if (!file.metadata_.emplace(key, value).second)
      throw Error("{}: the key {} occurs twice", self.name, key);
  }
  file.tensors_.reserve(static_cast<std::size_t>(tensor_count));
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    file.tensors_.push_back(read_tensor_info(in, self.name));
    const std::string& tensor = file.tensors_.back().name;
    if (!file.tensor_index_.emplace(tensor, i).second)
      throw Error("{}: tensor {} occurs twice", self.name, tensor);
  }
  const auto alignment = file.find_int("general.alignment").value_or(32);
  if (alignment <= 0 || static_cast<std::uint64_t>(alignment) > kMaxAlignment ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    throw Error("{}: general.alignment must be a power of two, found {}", self.name, alignment);
  }
  const auto step = static_cast<std::size_t>(alignment);
  self.alignment = step;
  const std::size_t start = (in.position() + step - 1) / step * step;
  self.data = start < bytes.size() ? bytes.subspan(start) : std::span<const std::byte>();
  for (const auto& info : file.tensors_) {
    if (info.offset % step != 0) {
      throw Error("{}: tensor {}: its offset {} is not a multiple of the alignment {}", self.name, info.name,
                  info.offset, alignment);
    }
  }
  file.architecture_ = file.find_string("general.architecture").value_or("");
  return file;
}

const GgufTensorInfo* GgufFile::find_tensor(std::string_view name) const {
  const auto it = tensor_index_.find(name);
  return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

const GgufValue* GgufFile::value(std::string_view key) const {
  const auto it = metadata_.find(key);
  return it == metadata_.end() ? nullptr : &it->second;
}

void GgufFile::wrong_type(std::string_view key, const GgufValue& found, std::string_view expected) const {
  if (found.type == GgufType::Array) {
    throw Error("{}: {}: expected {}, found an array of {}", name(), key, expected,
                augur::name(found.element));
  }
  throw Error("{}: {}: expected {}, found {}", name(), key, expected, augur::name(found.type));
}

std::optional<std::string> GgufFile::find_string(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->type != GgufType::String) wrong_type(key, *found, "a string");
  if (valid_utf8_prefix(text(found->bytes)) != found->bytes.size())
    throw Error("{}: {}: not valid UTF-8", name(), key);
  return std::string(text(found->bytes));
}

std::optional<std::int64_t> GgufFile::find_int(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  std::int64_t result = 0;
  if (!load_int(found->type, found->bytes.data(), result)) wrong_type(key, *found, "an integer below 2^63");
  return result;
}

std::optional<double> GgufFile::find_float(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  double result = 0;
  std::int64_t integer = 0;
  if (found->type == GgufType::F32) {
    const auto v = load<float>(found->bytes.data());
    result = std::isfinite(v) ? shortest_decimal(v) : v;
  } else if (found->type == GgufType::F64) {
    result = load<double>(found->bytes.data());
  } else if (load_int(found->type, found->bytes.data(), integer)) {
    result = static_cast<double>(integer);
  } else {
    wrong_type(key, *found, "a number");
  }
  if (!std::isfinite(result)) throw Error("{}: {}: expected a finite number", name(), key);
  return result;
}

std::optional<bool> GgufFile::find_bool(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->type != GgufType::Bool) wrong_type(key, *found, "a bool");
  return load<std::uint8_t>(found->bytes.data()) != 0;
}

std::optional<std::vector<std::string>> GgufFile::find_strings(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->type != GgufType::Array || found->element != GgufType::String) {
    wrong_type(key, *found, "an array of strings");
  }
  std::vector<std::string> result;
  result.reserve(static_cast<std::size_t>(found->count));
  Cursor in(found->bytes, name());
  for (std::uint64_t i = 0; i < found->count; ++i) result.emplace_back(text(in.string(key)));
  return result;
}

std::optional<std::vector<std::int64_t>> GgufFile::find_ints(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  const std::uint64_t size = scalar_bytes(found->element);
  if (found->type != GgufType::Array || size == 0) wrong_type(key, *found, "an array of integers");
  std::vector<std::int64_t> result(static_cast<std::size_t>(found->count));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (found->element == GgufType::Bool) {
      result[i] = found->bytes[i * size] != std::byte{0} ? 1 : 0;
    } else if (!load_int(found->element, found->bytes.data() + i * size, result[i])) {
      wrong_type(key, *found, "an array of integers below 2^63, or of booleans");
    }
  }
  return result;
}

std::optional<std::vector<float>> GgufFile::find_floats(std::string_view key) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (found->type != GgufType::Array || found->element != GgufType::F32) {
    wrong_type(key, *found, "an array of float32");
  }
  std::vector<float> result(static_cast<std::size_t>(found->count));
  if (!result.empty()) std::memcpy(result.data(), found->bytes.data(), result.size() * sizeof(float));
  return result;
}

StoredTensor GgufFile::tensor(const GgufTensorInfo& info) const {
  const GgufPart& part = parts_[info.part];
  const auto dtype = ggml_dtype(info.type);
  if (!dtype) {
    throw Error(ErrorKind::Unsupported, "{}: tensor {}: the element type {} ({}) is not supported", part.name,
                info.name, ggml_type_name(info.type), info.type);
  }
  const auto size = storage_bytes(*dtype, info.shape);
  if (!size) {
    throw Error("{}: tensor {}: rows of {} elements are not whole blocks of {}", part.name, info.name,
                info.shape.back(), augur::name(*dtype));
  }
  const auto bytes = static_cast<std::uint64_t>(*size);
  if (info.offset > part.data.size() || bytes > part.data.size() - info.offset) {
    throw Error("{}: tensor {}: its {} bytes at offset {} leave the file, which has {} bytes of data",
                part.name, info.name, bytes, info.offset, part.data.size());
  }
  StoredTensor result;
  result.name = info.name;
  result.dtype = *dtype;
  result.shape = info.shape;
  result.bytes = part.data.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(bytes));
  result.file = part.name;
  return result;
}

namespace {

std::string array_text(const GgufFile& file, const std::string& key, const GgufValue& value) {
  constexpr std::uint64_t kShown = 16;
  if (value.count > kShown || value.element == GgufType::Array)
    return fmt::format("[{} of {}]", value.count, name(value.element));
  if (value.element == GgufType::String) return fmt::format("{}", *file.find_strings(key));
  if (value.element == GgufType::F32) return fmt::format("{}", *file.find_floats(key));
  if (value.element == GgufType::F64) return fmt::format("[{} of {}]", value.count, name(value.element));
  return fmt::format("{}", *file.find_ints(key));
}

std::string value_text(const GgufFile& file, const std::string& key, const GgufValue& value) {
  switch (value.type) {
    case GgufType::String:
      return *file.find_string(key);
    case GgufType::Array:
      return array_text(file, key, value);
    case GgufType::Bool:
      return *file.find_bool(key) ? "true" : "false";
    case GgufType::F32:
    case GgufType::F64:
      return fmt::format("{}", *file.find_float(key));
    default:
      return fmt::format("{}", *file.find_int(key));
  }
}

}  // namespace

std::map<std::string, std::string> metadata_texts(const GgufFile& file) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : file.metadata()) {
    try {
      texts.emplace(key, value_text(file, key, value));
    } catch (const Error& error) {  // no UTF-8, no finite number: its users complain, not its readers
      texts.emplace(key, fmt::format("({})", error.what()));
    }
  }
  return texts;
}

bool is_gguf_file(const std::filesystem::path& path) {
  return is_gguf_file(MappedFile(path));
}

bool is_gguf_file(const MappedFile& file) {
  const auto magic = file.bytes().first(std::min<std::size_t>(file.bytes().size(), 4));
  return std::string_view(reinterpret_cast<const char*>(magic.data()), magic.size()) == "GGUF";
}

}  // namespace augur

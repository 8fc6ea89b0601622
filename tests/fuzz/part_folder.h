#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "support/temporary_folder.h"

namespace augur::fuzz {

// What was learned offline lies in a folder: config.json and model.safetensors. As a fuzzer's input it is one
// text, so that a mutation of a name, a shape or a number leaves a file whose container is sound (containers
// have fuzzers of their own): config.json as it is, and, where there are weights, behind a line "---" one
// line a tensor:
//   fc1.weight F32 8,3 0.5 -1 nan       the values, over and over again; none: some small ones

struct TensorText {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Nothing for a line that is no tensor, or one of more than 2^18 elements.
inline std::optional<TensorText> parse_tensor(const std::string& line) {
  constexpr std::int64_t kMostElements = 1 << 18;
  std::istringstream in(line);
  TensorText tensor;
  std::string shape;
  if (!(in >> tensor.name >> tensor.type >> shape)) return std::nullopt;
  std::int64_t elements = 1;
  std::istringstream sizes(shape);
  for (std::string size; std::getline(sizes, size, ',');) {
    char* end = nullptr;
    const long long value = std::strtoll(size.c_str(), &end, 10);
    if (end == size.c_str() || *end != 0 || value < 0 || value > kMostElements) return std::nullopt;
    tensor.shape.push_back(value);
    if ((elements *= value) > kMostElements) return std::nullopt;
  }
  for (std::string value; in >> value;) tensor.values.push_back(std::strtod(value.c_str(), nullptr));
  if (tensor.values.empty()) tensor.values = {0.25, -0.125, 0, 0.5, -0.375, 0.0625, 0.3125};
  return tensor;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// False for a type that has no values here.
inline bool put_value(std::string& out, std::string_view type, double value) {
  const double integer = value > -9e18 && value < 9e18 ? value : 0;  // NaN, too
  if (type == "F32") {
    put(out, static_cast<float>(value));
  } else if (type == "BF16") {
    put(out, to_bf16(static_cast<float>(value)).bits);
  } else if (type == "F16") {
    put(out, float_to_half(static_cast<float>(value)));
  } else if (type == "I64") {
    put(out, static_cast<std::int64_t>(integer));
  } else if (type == "I32") {
    put(out, static_cast<std::int32_t>(static_cast<std::int64_t>(integer)));
  } else if (type == "F64") {
    put(out, value);
  } else if (type == "BOOL" || type == "U8") {
    out += value != 0 ? '\1' : '\0';
  } else {
    return false;
  }
  return true;
}

/// The content of a safetensors file with the tensors of a text.
inline std::string safetensors_of(const std::string& text) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto tensor = parse_tensor(line);
    if (!tensor || header.contains(tensor->name)) continue;
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor->shape) elements *= size;
    const std::size_t begin = data.size();
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto& values = tensor->values;
      if (!put_value(data, tensor->type, values[static_cast<std::size_t>(i) % values.size()])) break;
    }
    header[tensor->name] = {
        {"dtype", tensor->type}, {"shape", tensor->shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string json = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string file;
  put(file, std::uint64_t{json.size()});
  return file + json + data;
}

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(content.data(), std::ssize(content));
}

/// A folder of this process, in which each input replaces the one before.
inline const std::filesystem::path& scratch_folder() {
  static const testing_support::TemporaryFolder folder;
  return folder.path();
}

/// Writes an input as the folder that it describes, and returns it.
inline const std::filesystem::path& write_part(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kEnd = "\n---\n";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find(kEnd);
  const std::filesystem::path& folder = scratch_folder();
  write_file(folder / "config.json", input.substr(0, end));
  if (end == std::string_view::npos) {
    std::filesystem::remove(folder / "model.safetensors");
  } else {
    write_file(folder / "model.safetensors", safetensors_of(std::string(input.substr(end + kEnd.size()))));
  }
  return folder;
}

}  // namespace augur::fuzz

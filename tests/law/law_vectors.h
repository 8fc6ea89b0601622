#pragma once
// Golden vectors: what the operations of docs/law.md give, bit by bit, case by case.
//
// A file is "law NUMBER", then every case as a line of its name and lines of words in hexadecimal that begin
// with a space, ten each. A word is an element: the bits of a float32, bf16 or integer; a float64 has two,
// the lower first, a QuantBlock twelve as it lies in memory. A NaN is 7fc00000.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "law_inputs.h"

namespace augur::law {

class Words {
 public:
  void add(std::uint32_t word) { words_.push_back(word); }
  void add(std::int32_t word) { add(static_cast<std::uint32_t>(word)); }
  void add(std::int64_t word) { add(static_cast<std::uint32_t>(word)); }
  void add(float v) { add(std::isnan(v) ? 0x7fc00000u : bits_of(v)); }
  void add(BF16 v) { add(std::isnan(to_float(v)) ? 0x7fc00000u : std::uint32_t{v.bits}); }
  void add(double v) {
    if (std::isnan(v)) return add(0x7fc00000u);
    const auto bits = std::bit_cast<std::uint64_t>(v);
    add(static_cast<std::uint32_t>(bits));
    add(static_cast<std::uint32_t>(bits >> 32));
  }
  void add(const QuantBlock& block) {
    std::uint32_t q[8];
    std::memcpy(q, block.q, sizeof q);
    for (const std::uint32_t word : q) add(word);
    add(block.scale);
    add(block.scaled_sum);
    add(block.offset);
    add(block.offset_low);
  }
  template <class T>
  void add(const std::vector<T>& all) {
    for (const T& one : all) add(one);
  }
  const std::vector<std::uint32_t>& words() const { return words_; }

 private:
  std::vector<std::uint32_t> words_;
};

/// What computes: a variant of the kernels, the plain loops of docs/law.md, an emulated tile unit.
struct Machine {
  std::string name;
  std::function<void(const GemmCall&)> product;
  AttentionFn attention = nullptr;
};

struct Case {
  std::string name;  ///< "OPERATION: what is special about it"
  std::function<Words(const Machine&, Inputs)> compute;
};

using Vectors = std::vector<std::pair<std::string, std::vector<std::uint32_t>>>;

inline Vectors compute(const std::vector<Case>& cases, const Machine& machine) {
  Vectors all;
  for (const Case& one : cases) all.emplace_back(one.name, one.compute(machine, Inputs(one.name)).words());
  return all;
}

/// What differs first, by case and element; empty: nothing.
inline std::string difference(const Vectors& found, const Vectors& golden) {
  for (std::size_t c = 0; c < std::max(found.size(), golden.size()); ++c) {
    if (c >= found.size()) return golden[c].first + ": is not computed";
    if (c >= golden.size()) return found[c].first + ": has no golden vector";
    const auto& [name, words] = found[c];
    const auto& [expected_name, expected] = golden[c];
    if (name != expected_name)
      return fmt::format("{}: the golden vector in its place is of {}", name, expected_name);
    if (words.size() != expected.size())
      return fmt::format("{}: {} elements, expected {}", name, words.size(), expected.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != expected[i])
        return fmt::format("{}: element {} is {:08x}, expected {:08x}", name, i, words[i], expected[i]);
    }
  }
  return {};
}

inline std::string text_of(int law, const Vectors& vectors) {
  std::string text = fmt::format("law {}\n", law);
  for (const auto& [name, words] : vectors) {
    text += name;
    for (std::size_t i = 0; i < words.size(); ++i)
      text += fmt::format("{}{:x}", i % 10 == 0 ? "\n " : " ", words[i]);
    text += '\n';
  }
  return text;
}

/// Reads what text_of() writes.
inline Vectors read_vectors(const std::string& path, int law) {
  std::ifstream file(path);
  Vectors all;
  std::string line;
  if (!std::getline(file, line) || line != fmt::format("law {}", law))
    throw std::runtime_error(fmt::format("{}: begins with '{}', expected 'law {}'", path, line, law));
  while (std::getline(file, line)) {
    if (!line.starts_with(' ')) {
      all.emplace_back(line, std::vector<std::uint32_t>{});
      continue;
    }
    std::istringstream words(line);
    for (std::string word; words >> word;)
      all.back().second.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  }
  return all;
}

}  // namespace augur::law

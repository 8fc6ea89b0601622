#include "files/gpt_oss_experts.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "files/safetensors.h"
#include "support/test_files.h"

namespace augur {
namespace {

using test::expect_error;
using test::raw;
using test::safetensors_file;
using test::TemporaryFolder;
using Json = nlohmann::json;

const std::string kAt = "model.layers.0.mlp.experts.";

/// A safetensors file of tensors one behind the other.
class File {
 public:
  File& add(const std::string& name, const std::string& dtype, const Shape& shape, const std::string& bytes) {
    header_[name] = {
        {"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
    return *this;
  }
  std::unique_ptr<WeightStore> open(const TemporaryFolder& folder) const {
    folder.write("model.safetensors", safetensors_file(header_.dump(), data_));
    return open_safetensors(folder.path() / "model.safetensors");
  }

 private:
  Json header_ = Json::object();
  std::string data_;
};

constexpr float kFp4[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};

/// Of value i of row r of expert e: some code, and the power of two of its block.
int code(int e, int r, int i) {
  return (7 * e + 3 * r + i + i / 16) % 16;
}
int power(int e, int r, int block) {
  return e - r + 2 * block;
}

File mxfp4(const std::string& which, int experts, int rows, int blocks) {
  std::string values;
  std::string scales;
  for (int e = 0; e < experts; ++e) {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < 32 * blocks; i += 2) {
        values += static_cast<char>(code(e, r, i) | code(e, r, i + 1) << 4);
      }
      for (int b = 0; b < blocks; ++b) scales += static_cast<char>(127 + power(e, r, b));
    }
  }
  File file;
  file.add(kAt + which + "_blocks", "U8", {experts, rows, blocks, 16}, values);
  file.add(kAt + which + "_scales", "U8", {experts, rows, blocks}, scales);
  return file;
}

TEST(GptOssExperts, Mxfp4IsPutTogetherRowByRow) {
  const TemporaryFolder folder;
  constexpr int kExperts = 3;
  constexpr int kRows = 6;
  constexpr int kBlocks = 2;
  for (const bool fused : {true, false}) {
    const auto store = mxfp4(fused ? "gate_up_proj" : "down_proj", kExperts, kRows, kBlocks).open(folder);
    split_gpt_oss_experts(*store);
    const int step = fused ? 2 : 1;
    EXPECT_EQ(store->tensors().size(), static_cast<std::size_t>(kExperts * step));
    for (int e = 0; e < kExperts; ++e) {
      for (int first = 0; first < step; ++first) {
        const std::string part = !fused ? "down_proj" : first == 0 ? "gate_proj" : "up_proj";
        const StoredTensor& tensor =
            store->require(kAt + std::to_string(e) + "." + part + ".weight", {kRows / step, 32 * kBlocks});
        EXPECT_EQ(tensor.dtype, DType::MXFP4);
        EXPECT_FALSE(tensor.as_is());
        std::vector<std::byte> scratch;
        std::array<float, 2 * 32 * kBlocks> rows;
        read_rows(tensor, 1, 2, rows.data());
        for (int r = 0; r < 2; ++r) {
          const int stored = first + (1 + r) * step;
          // GGUF's block: the scale, then elements i and 16 + i in one byte.
          const std::span<const std::byte> bytes = stored_row(tensor, 1 + r, scratch);
          ASSERT_EQ(bytes.size(), 17u * kBlocks);
          for (int i = 0; i < 32 * kBlocks; ++i) {
            const auto block = static_cast<std::size_t>(i / 32);
            const int within = i % 32;
            const auto pair = static_cast<int>(bytes[17 * block + 1 + static_cast<std::size_t>(within % 16)]);
            EXPECT_EQ(within < 16 ? pair & 15 : pair >> 4, code(e, stored, i));
            EXPECT_EQ(rows[static_cast<std::size_t>(r * 32 * kBlocks + i)],
                      std::ldexp(kFp4[code(e, stored, i)], power(e, stored, i / 32)));
          }
          EXPECT_EQ(static_cast<int>(bytes[0]), 127 + power(e, stored, 0));
        }
        EXPECT_THROW(stored_row(tensor, kRows / step, scratch), Error);
        EXPECT_THROW(read_rows(tensor, kRows / step, 1, rows.data()), Error);
      }
    }
  }
}

TEST(GptOssExperts, FloatsAreTransposedAndBiasesTakeTurns) {
  const TemporaryFolder folder;
  constexpr int kExperts = 2;
  constexpr int kColumns = 3;
  constexpr int kRows = 4;
  std::string weights;
  std::string biases;
  for (int i = 0; i < kExperts * kColumns * kRows; ++i) weights += raw(static_cast<float>(i));
  for (int i = 0; i < kExperts * kRows; ++i) biases += raw(static_cast<float>(100 + i));
  const auto store = File()
                         .add(kAt + "gate_up_proj", "F32", {kExperts, kColumns, kRows}, weights)
                         .add(kAt + "gate_up_proj_bias", "F32", {kExperts, kRows}, biases)
                         .add(kAt + "down_proj", "F32", {kExperts, kRows, kColumns}, weights)
                         .add("model.norm.weight", "F32", {1}, raw(1.0f))
                         .open(folder);
  split_gpt_oss_experts(*store);
  EXPECT_EQ(store->tensors().size(), 4u + 4u + 2u + 1u);
  std::array<float, 12> values;
  // Expert 1's matrix begins with 12; up's row r is column 2r + 1 of it.
  read_rows(store->require(kAt + "1.up_proj.weight", {2, 3}), 0, 2, values.data());
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 6),
            (std::vector<float>{13, 17, 21, 15, 19, 23}));
  read_rows(store->require(kAt + "1.gate_proj.weight", {2, 3}), 1, 1, values.data());
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 3), (std::vector<float>{14, 18, 22}));
  read_rows(store->require(kAt + "1.up_proj.bias", {2}), 0, 1, values.data());
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 2), (std::vector<float>{105, 107}));
  read_rows(store->require(kAt + "0.down_proj.weight", {3, 4}), 1, 2, values.data());
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 8),
            (std::vector<float>{1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST(GptOssExperts, WhatIsNoneOfThisIsNamed) {
  const TemporaryFolder folder;
  const auto refused = [&](const File& file, std::initializer_list<std::string_view> words) {
    const auto store = file.open(folder);
    expect_error([&] { split_gpt_oss_experts(*store); }, words);
  };
  const std::string zeros(96, '\0');
  const auto bytes = [&](std::size_t count) { return zeros.substr(0, count); };
  refused(File().add(kAt + "down_proj_blocks", "U8", {1, 2, 1, 16}, bytes(32)),
          {"down_proj_scales", "missing"});
  refused(File()
              .add(kAt + "down_proj_blocks", "U8", {1, 2, 1, 16}, bytes(32))
              .add(kAt + "down_proj_scales", "U8", {1, 3, 1}, bytes(3)),
          {"down_proj_scales", "[1, 2, 1]", "[1, 3, 1]"});
  refused(File()
              .add(kAt + "down_proj_blocks", "U8", {1, 2, 1, 16}, bytes(32))
              .add(kAt + "down_proj_scales", "F32", {1, 2, 1}, bytes(8)),
          {"down_proj_scales", "expected U8"});
  refused(File().add(kAt + "down_proj_blocks", "U8", {1, 2, 1, 8}, bytes(16)),
          {"down_proj_blocks", "32, 16"});
  refused(File().add(kAt + "gate_up_proj", "F32", {1, 2, 3}, bytes(24)), {"gate_up_proj", "as many rows"});
  refused(File().add(kAt + "gate_up_proj", "F32", {2, 3}, bytes(24)),
          {"gate_up_proj", "[experts, columns, rows]"});
  refused(File().add(kAt + "down_proj", "F32", {0, 2, 3}, ""), {"down_proj", "1 to 4096 experts"});
  refused(File().add(kAt + "down_proj", "F32", {1, 0, 3}, ""), {"down_proj", "[experts, columns, rows]"});
  refused(File().add(kAt + "down_proj_bias", "I32", {1, 2}, bytes(8)), {"down_proj_bias", "floats"});
  refused(File()
              .add(kAt + "down_proj_bias", "F32", {1, 2}, bytes(8))
              .add(kAt + "0.down_proj.bias", "F32", {2}, bytes(8)),
          {"0.down_proj.bias", "twice"});
}

}  // namespace
}  // namespace augur

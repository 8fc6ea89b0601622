// Importance matrices as llama-imatrix writes them.
#include "files/importance_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "files/gguf/writer.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ImportanceMatrixFile : public testing::Test {
 protected:
  static void add(std::string& bytes, std::int32_t value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  /// One entry of the older form.
  static std::string dat(const std::string& name, std::int32_t calls, const std::vector<float>& values) {
    std::string bytes;
    add(bytes, 1);
    add(bytes, static_cast<std::int32_t>(name.size()));
    bytes += name;
    add(bytes, calls);
    add(bytes, static_cast<std::int32_t>(values.size()));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return bytes;
  }
  std::filesystem::path write(const std::string& bytes) {
    const std::filesystem::path path = folder_.path() / "imatrix.dat";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::filesystem::path write_gguf(const char* type, const std::vector<float>& sums,
                                   const std::vector<float>& counts) {
    const std::filesystem::path path = folder_.path() / "imatrix.gguf";
    GgufMetadata metadata;
    metadata.set("general.type", type);
    GgufWriter writer(
        path, metadata,
        {{"blk.0.ffn_up.weight.in_sum2", DType::F32, {static_cast<std::int64_t>(sums.size())}},
         {"blk.0.ffn_up.weight.counts", DType::F32, {static_cast<std::int64_t>(counts.size())}}});
    writer.write(std::as_bytes(std::span(sums)));
    writer.write(std::as_bytes(std::span(counts)));
    writer.finish();
    return path;
  }
  static std::string refusal(const std::filesystem::path& path) {
    try {
      ImportanceMatrix::read(path);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "read";
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(ImportanceMatrixFile, OfTheOlderFormHasMeansOverTheCalls) {
  const auto matrix = ImportanceMatrix::read(write(dat("blk.1.attn_q.weight", 4, {4, 8, 0})));
  EXPECT_THAT(matrix.of("blk.1.attn_q.weight"), ElementsAre(1, 2, 0));
  EXPECT_THAT(matrix.of("blk.0.attn_q.weight"), IsEmpty());
}

TEST_F(ImportanceMatrixFile, InGgufHasSumsAndCounts) {
  const auto matrix = ImportanceMatrix::read(write_gguf("imatrix", {2, 4, 6, 8}, {2}));
  EXPECT_THAT(matrix.of("blk.0.ffn_up.weight"), ElementsAre(1, 2, 3, 4));
}

TEST_F(ImportanceMatrixFile, AnExpertThatNoRowChoseHasEqualColumns) {
  const auto matrix = ImportanceMatrix::read(write_gguf("imatrix", {2, 4, 0, 0}, {2, 0}));
  EXPECT_THAT(matrix.of("blk.0.ffn_up.weight"), ElementsAre(1, 2, 1, 1));
}

TEST_F(ImportanceMatrixFile, EveryTruncationIsOneError) {
  const std::string whole = dat("blk.1.attn_q.weight", 4, {4, 8, 0});
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THAT(refusal(write(whole.substr(0, size))), HasSubstr("do not fit")) << size;
}

TEST_F(ImportanceMatrixFile, WhatIsNoMeanSquareIsRefused) {
  EXPECT_THAT(refusal(write(dat("a", 1, {1, -1}))), HasSubstr("a: expected mean squares, found -1"));
  EXPECT_THAT(refusal(write(dat("a", 1, {NAN}))), HasSubstr("expected mean squares"));
  EXPECT_THAT(refusal(write_gguf("imatrix", {1, 2, 3}, {1, 1})), HasSubstr("2 counts for 3 sums"));
  EXPECT_THAT(refusal(write_gguf("model", {1}, {1})), HasSubstr("expected \"imatrix\", found \"model\""));
  std::string none;
  add(none, 0);
  EXPECT_THAT(refusal(write(none)), HasSubstr("found no entries"));
}

}  // namespace
}  // namespace augur

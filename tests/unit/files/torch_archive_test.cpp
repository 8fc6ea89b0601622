#include "files/torch_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

const std::filesystem::path kGolden = std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/torch";

using Bytes = std::vector<std::byte>;

Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

nlohmann::json expected_values() {
  std::ifstream stream(kGolden / "expected.json");
  return nlohmann::json::parse(stream);
}

/// Element `i` of any type a PyTorch tensor may have.
double element(const StoredTensor& tensor, std::size_t i) {
  const std::byte* at = tensor.bytes.data() + i * static_cast<std::size_t>(block_shape(tensor.dtype).bytes);
  const auto load = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (tensor.dtype) {
    case DType::F64:
      return load(double{});
    case DType::F32:
      return load(float{});
    case DType::F16:
      return half_to_float(load(std::uint16_t{}));
    case DType::BF16:
      return to_float(load(BF16{}));
    case DType::I64:
      return static_cast<double>(load(std::int64_t{}));
    case DType::I32:
      return load(std::int32_t{});
    case DType::I16:
      return load(std::int16_t{});
    case DType::I8:
      return load(std::int8_t{});
    default:
      return load(std::uint8_t{});
  }
}

TEST(TorchArchive, ReadsWhatTorchWrote) {
  const auto golden = expected_values();
  int files = 0;
  for (const auto& [file, expected] : golden.items()) {
    if (!expected.contains("tensors")) continue;
    SCOPED_TRACE(file);
    ++files;
    const auto store = open_torch_archive(kGolden / file);
    EXPECT_EQ(store->description(), (kGolden / file).string());
    ASSERT_EQ(store->tensors().size(), expected["tensors"].size());
    for (const auto& [name, wanted] : expected["tensors"].items()) {
      SCOPED_TRACE(name);
      const StoredTensor* tensor = store->find(name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(augur::name(tensor->dtype), wanted["dtype"].get<std::string>());
      EXPECT_EQ(tensor->shape, wanted["shape"].get<Shape>());
      const auto values = wanted["values"].get<std::vector<double>>();
      ASSERT_EQ(tensor->bytes.size(),
                values.size() * static_cast<std::size_t>(block_shape(tensor->dtype).bytes));
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(element(*tensor, i), values[i]) << i;
    }
  }
  EXPECT_GE(files, 10);
}

TEST(TorchArchive, ReadsDraftHeads) {
  const std::filesystem::path heads = std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/heads";
  const auto eagle3 = open_torch_archive(heads / "eagle3_official/pytorch_model.bin");
  EXPECT_EQ(eagle3->require("fc.weight", {64, 192}).dtype, DType::F16);
  EXPECT_EQ(eagle3->require("d2t", {96}).dtype, DType::I64);
  EXPECT_EQ(eagle3->require("t2d", {192}).dtype, DType::Bool);
  EXPECT_EQ(eagle3->tensors().size(), 15u);

  // Medusa repeats one residual block: two names, one storage.
  const auto medusa = open_torch_archive(heads / "medusa_two_layers/medusa_lm_head.pt");
  EXPECT_EQ(medusa->require("medusa_head.0.0.linear.weight", {64, 64}).bytes.data(),
            medusa->require("medusa_head.0.1.linear.weight", {64, 64}).bytes.data());
  EXPECT_NO_THROW(open_torch_archive(heads / "hydra_plus_plus/hydra_lm_head.pt"));
}

TEST(TorchArchive, ReadsRowsThroughTheStore) {
  const auto store = open_torch_archive(kGolden / "views.pt");
  float row[4];
  read_rows(store->require("transposed", {4, 3}), 1, 1, row);  // column 1 of [[0..3], [4..7], [8..11]]
  EXPECT_EQ(row[0], 1.0f);
  EXPECT_EQ(row[2], 9.0f);
}

TEST(TorchArchive, RefusesOtherFilesWithTheReason) {
  const auto golden = expected_values();
  int files = 0;
  for (const auto& [file, expected] : golden.items()) {
    if (!expected.contains("error")) continue;
    ++files;
    const std::string message = error_of([&name = file] { open_torch_archive(kGolden / name); });
    EXPECT_THAT(message, HasSubstr(file));
    for (const auto& fragment : expected["error"])
      EXPECT_THAT(message, HasSubstr(fragment.get<std::string>()));
  }
  EXPECT_GE(files, 10);

  const auto reason = [](const std::string& text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return error_of([&] { parse_torch_archive({data, text.size()}, "head.bin"); });
  };
  EXPECT_THAT(reason(""), HasSubstr("head.bin: the file is empty"));
  EXPECT_THAT(reason("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(reason("<!DOCTYPE html>"), HasSubstr("download failed"));
  EXPECT_THAT(reason("GGUF\x03"), HasSubstr("GGUF"));
  EXPECT_THAT(reason("hello"), HasSubstr("not a PyTorch archive"));
  EXPECT_THAT(error_of([] { open_torch_archive(kGolden / "absent.pt"); }), HasSubstr("absent.pt"));
}

TEST(TorchArchive, ReadsIntegerLists) {
  const auto golden = expected_values();
  int files = 0;
  for (const auto& [file, expected] : golden.items()) {
    if (!expected.contains("integers")) continue;
    ++files;
    EXPECT_EQ(read_torch_integers(kGolden / file), expected["integers"].get<std::vector<std::int64_t>>())
        << file;
  }
  EXPECT_GE(files, 1);
  EXPECT_THAT(error_of([] { read_torch_integers(kGolden / "nested.pt"); }), HasSubstr("found a dict"));
  EXPECT_THAT(error_of([] { read_torch_integers(kGolden / "alone.pt"); }), HasSubstr("F32"));
}

TEST(TorchArchive, GivesTheOtherValuesToo) {
  const Pickle values = read_torch_values(kGolden / "nested.pt");
  const auto number = [&](const char* key) {
    return std::get<std::int64_t>(*values.find(values.root(), key));
  };
  EXPECT_EQ(number("epoch"), 3);
  EXPECT_EQ(number("big"), std::int64_t{1} << 40);
  EXPECT_EQ(number("negative"), -7);
  EXPECT_EQ(std::get<double>(*values.find(values.root(), "loss")), 0.5);
  EXPECT_EQ(std::get<std::string>(*values.find(values.root(), "name")), "head");
}

/// Parses a copy of exactly this size (so that the address sanitizer sees any byte read beyond it), then
/// reads every byte of every tensor. Must either work or throw Error.
bool survives(const Bytes& file) {
  const Bytes copy(file);
  try {
    const auto store = parse_torch_archive(copy, "hostile.pt");
    unsigned sum = 0;
    for (const auto& [name, tensor] : store->tensors())
      for (const std::byte b : tensor.bytes) sum += std::to_integer<unsigned>(b);
    return sum != ~0u;
  } catch (const Error&) {
    return false;
  }
}

TEST(TorchArchive, EveryTruncationIsAnError) {
  for (const char* file : {"state_dict_p2.pt", "views.pt", "zip64.pt"}) {
    Bytes bytes = read_bytes(kGolden / file);
    ASSERT_TRUE(survives(bytes)) << file;
    while (!bytes.empty()) {
      bytes.pop_back();
      EXPECT_FALSE(survives(bytes)) << file << " cut to " << bytes.size() << " bytes";
    }
  }
}

TEST(TorchArchive, FlippedBitsNeverCrash) {
  int refused = 0;
  for (const char* file : {"state_dict_p4.pt", "views.pt", "zip64.pt", "evil.pt"}) {
    Bytes bytes = read_bytes(kGolden / file);
    for (std::byte& byte : bytes) {
      for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
        byte ^= static_cast<std::byte>(mask);
        refused += survives(bytes) ? 0 : 1;
        byte ^= static_cast<std::byte>(mask);
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

// --- archives made by hand ---

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
}

struct Entry {
  std::string name, content;
  std::uint64_t claimed_size = ~0ull;    ///< default: the content's
  std::uint64_t claimed_offset = ~0ull;  ///< default: where it lies
};

/// A zip64 archive whose every directory field can lie.
Bytes make_zip(const std::vector<Entry>& entries, std::uint64_t claimed_entries = ~0ull) {
  std::string out, directory;
  for (const Entry& entry : entries) {
    const std::uint64_t offset = out.size();
    put(out, 0x04034b50, 4), put(out, 45, 2), put(out, 0, 20);
    put(out, entry.name.size(), 2), put(out, 0, 2);
    out += entry.name + entry.content;
    const std::uint64_t size = entry.claimed_size == ~0ull ? entry.content.size() : entry.claimed_size;
    put(directory, 0x02014b50, 4), put(directory, 0, 16);
    put(directory, 0xffffffff, 4), put(directory, 0xffffffff, 4);
    put(directory, entry.name.size(), 2), put(directory, 28, 2), put(directory, 0, 10),
        put(directory, 0xffffffff, 4);
    directory += entry.name;
    put(directory, 1, 2), put(directory, 24, 2), put(directory, size, 8), put(directory, size, 8);
    put(directory, entry.claimed_offset == ~0ull ? offset : entry.claimed_offset, 8);
  }
  const std::uint64_t start = out.size();
  out += directory;
  const std::uint64_t end = out.size();
  const std::uint64_t count = claimed_entries == ~0ull ? entries.size() : claimed_entries;
  put(out, 0x06064b50, 4), put(out, 44, 8), put(out, 45, 2), put(out, 45, 2), put(out, 0, 8);
  put(out, count, 8), put(out, count, 8), put(out, directory.size(), 8), put(out, start, 8);
  put(out, 0x07064b50, 4), put(out, 0, 4), put(out, end, 8), put(out, 1, 4);
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, 0xffff, 2), put(out, 0xffff, 2);
  put(out, 0xffffffff, 4), put(out, 0xffffffff, 4), put(out, 0, 2);
  const auto* data = reinterpret_cast<const std::byte*>(out.data());
  return {data, data + out.size()};
}

/// Pickle of {"w": float tensor} with these numbers (each encoded as LONG1 of 8 bytes).
std::string tensor_pickle(std::int64_t elements, std::int64_t offset, const std::vector<std::int64_t>& shape,
                          const std::vector<std::int64_t>& stride, int copies = 1) {
  using namespace std::string_literals;
  const auto number = [](std::int64_t value) {
    std::string text = "\x8a\x08";
    put(text, static_cast<std::uint64_t>(value), 8);
    return text;
  };
  const auto tuple = [&](const std::vector<std::int64_t>& values) {
    std::string text = "(";
    for (const auto value : values) text += number(value);
    return text + "t";
  };
  std::string code = "\x80\x02}(\x8c\x01wctorch._utils\n_rebuild_tensor_v2\n"s;
  code +=
      "((\x8c\x07storage"
      "ctorch\nFloatStorage\n\x8c\x01"
      "0\x8c\x03"
      "cpu" +
      number(elements) + "tQ";
  code += number(offset) + tuple(shape) + tuple(stride) + "tRq\x01";
  for (int i = 1; i < copies; ++i) code += "\x8c\x04" + fmt::format("{:04}", i) + "h\x01";
  return code + "u.";
}

Bytes archive_with(const std::string& pickle, std::size_t storage_bytes) {
  return make_zip({{"a/data.pkl", pickle}, {"a/data/0", std::string(storage_bytes, '\1')}});
}

std::string reason(const Bytes& file) {
  return error_of([&] { parse_torch_archive(file, "made.pt"); });
}

TEST(TorchArchive, ChecksTensorsAgainstTheirStorage) {
  EXPECT_EQ(reason(archive_with(tensor_pickle(6, 0, {2, 3}, {3, 1}), 24)), "no error");
  EXPECT_THAT(reason(archive_with(tensor_pickle(6, 1, {2, 3}, {3, 1}), 24)),
              testing::AllOf(HasSubstr("tensor w"), HasSubstr("[2, 3]"), HasSubstr("reach outside")));
  EXPECT_THAT(reason(archive_with(tensor_pickle(6, 0, {2, 3}, {4, 1}), 24)), HasSubstr("reach outside"));
  EXPECT_THAT(reason(archive_with(tensor_pickle(6, 7, {}, {}), 24)), HasSubstr("reach outside"));
  EXPECT_EQ(reason(archive_with(tensor_pickle(6, 5, {}, {}), 24)), "no error");
  EXPECT_THAT(reason(archive_with(tensor_pickle(7, 0, {2, 3}, {3, 1}), 24)), HasSubstr("holds 24 bytes"));
  constexpr std::int64_t kHuge = INT64_MAX;
  EXPECT_THAT(reason(archive_with(tensor_pickle(6, kHuge, {1}, {1}), 24)), HasSubstr("reach outside"));
  EXPECT_THAT(reason(archive_with(tensor_pickle(6, 0, {kHuge, kHuge}, {kHuge, kHuge}), 24)),
              HasSubstr("reach outside"));
  EXPECT_THAT(reason(archive_with(tensor_pickle(6, 0, {kHuge, 2}, {0, 0}), 24)), HasSubstr("reach outside"));
  EXPECT_THAT(reason(archive_with(tensor_pickle(kHuge, 0, {kHuge}, {1}), 24)), HasSubstr("holds 24 bytes"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", tensor_pickle(6, 0, {2, 3}, {3, 1})}})),
              HasSubstr("no entry data/0"));
}

TEST(TorchArchive, StridesOfAxesWithOneElementMeanNothing) {
  // Adding such a stride would overflow, which the sanitizers would report.
  const Bytes file = archive_with(tensor_pickle(6, 0, {3, 1, 2}, {1, INT64_MAX, 3}), 24);
  EXPECT_EQ(parse_torch_archive(file, "made.pt")->require("w", {3, 1, 2}).bytes.size(), 24u);
}

TEST(TorchArchive, BoundsWhatStridesAndReferencesMultiply) {
  // One element shown as 2^40, and one transposed tensor named 5000 times.
  EXPECT_THAT(reason(archive_with(tensor_pickle(1, 0, {1 << 20, 1 << 20}, {0, 0}), 4)), HasSubstr("repeat"));
  EXPECT_THAT(reason(archive_with(tensor_pickle(4096, 0, {64, 64}, {1, 64}, 5000), 16384)),
              HasSubstr("repeat"));
  EXPECT_EQ(reason(archive_with(tensor_pickle(4096, 0, {64, 64}, {64, 1}, 5000), 16384)), "no error");

  using namespace std::string_literals;
  std::string doubling = "\x80\x02K\x01"s;  // 2^100 paths to one number
  for (int i = 0; i < 100; ++i) doubling += "q\x01h\x01\x86";
  EXPECT_THAT(reason(archive_with(doubling + ".", 4)), HasSubstr("nested more than"));
  std::string wide = "\x80\x02]"s;  // each level lists the one before a thousand times
  for (int level = 0; level < 8; ++level) {
    wide += "q\x01](";
    for (int i = 0; i < 1000; ++i) wide += "h\x01";
    wide += "e";
  }
  // The lists stay on the stack: gather them into one tuple.
  EXPECT_THAT(reason(archive_with("\x80\x02("s + wide.substr(2) + "t.", 4)), HasSubstr("more than"));
  EXPECT_THAT(reason(archive_with("\x80\x02]q\x01h\x01"
                                  "a."s,
                                  4)),
              HasSubstr("nested more than"));  // holds itself
}

/// A list of tensors, behind `levels` of lists each of which names the one below `width` times.
std::string listed_again(int levels, int width) {
  std::string code = tensor_pickle(1, 0, {1}, {1});
  code.erase(code.size() - 2);                      // "u."
  code = "\x80\x02" + code.substr(code.find('c'));  // the tensor alone, which is memo 1
  for (int level = 0; level < levels; ++level) {
    code += "](";
    for (int i = 0; i < width; ++i) code += "h\x01";
    code += "eq\x01";
  }
  // Everything that was made lies on the stack: the last is the second of a pair.
  return "\x80\x02(" + code.substr(2) + "t.";
}

TEST(TorchArchive, CountsWhatReferencesAdd) {
  EXPECT_EQ(reason(archive_with(listed_again(1, 50), 4)), "no error");
  const std::string pickle = listed_again(3, 200);  // eight million tensors
  ASSERT_LT(pickle.size(), 2000u);
  EXPECT_THAT(reason(archive_with(pickle, 4)), testing::AllOf(HasSubstr("made.pt"), HasSubstr("more than")));
  // Few visits, long names: a thousand bytes for each of many tensors.
  using namespace std::string_literals;
  std::string named = tensor_pickle(1, 0, {1}, {1}, 5000);
  named.erase(named.size() - 2);
  named.erase(0, 2);
  named = "\x80\x02}(X" + "\xe8\x03\x00\x00"s + std::string(1000, 'n') + named + "uu.";
  EXPECT_THAT(reason(archive_with(named, 4)), HasSubstr("names take more than"));
}

TEST(TorchArchive, ChecksTheZipDirectory) {
  const std::string pickle = tensor_pickle(6, 0, {2, 3}, {3, 1});
  const std::string storage(24, '\1');
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"a/data/0", storage, 1ull << 63}})),
              HasSubstr("outside"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"a/data/0", storage, ~0ull - 1}})),
              HasSubstr("outside"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"a/data/0", storage, 24, ~0ull - 40}})),
              HasSubstr("outside"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"a/data/0", storage, 24, 0}})),
              HasSubstr("another entry"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"a/data/0", storage, 24, 1}})),
              HasSubstr("no entry header"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"a/data.pkl", pickle}})), HasSubstr("appears twice"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}, {"b/data.pkl", pickle}})), HasSubstr("both"));
  EXPECT_THAT(reason(make_zip({{"a/weights", storage}})), HasSubstr("without data.pkl"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}}, 1ull << 60)), HasSubstr("claims"));
  EXPECT_THAT(reason(make_zip({{"a/data.pkl", pickle}}, 2)), HasSubstr("claims"));
}

}  // namespace
}  // namespace augur

#include "files/torch/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace augur {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

Pickle parse(const std::string& code) {
  // A heap block of exactly this size: the address sanitizer sees every byte read beyond it.
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(code.data()),
                                     reinterpret_cast<const std::byte*>(code.data()) + code.size());
  return Pickle::parse(bytes, "test.pt");
}

std::string refusal(const std::string& code) {
  try {
    parse(code);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

template <class T>
T single(const std::string& code) {
  return std::get<T>(parse(code).root());
}

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(Pickle, ReadsNumbers) {
  EXPECT_EQ(single<std::int64_t>("\x80\x02K\xff."s), 255);
  EXPECT_EQ(single<std::int64_t>("\x80\x02M\x01\x02."s), 0x0201);
  EXPECT_EQ(single<std::int64_t>("\x80\x02J\xfe\xff\xff\xff."s), -2);
  EXPECT_EQ(single<std::int64_t>("\x80\x02\x8a\x00."s), 0);
  EXPECT_EQ(single<std::int64_t>("\x80\x02\x8a\x01\x80."s), -128);
  EXPECT_EQ(single<std::int64_t>("\x80\x02\x8a\x05\x00\x00\x00\x00\x01."s), std::int64_t{1} << 32);
  EXPECT_EQ(single<std::int64_t>("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."s), INT64_MAX);
  EXPECT_EQ(single<double>("\x80\x02G\xbf\xf8\x00\x00\x00\x00\x00\x00."s), -1.5);
  EXPECT_TRUE(single<bool>("\x80\x02\x88."s));
  EXPECT_THAT(refusal("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s), HasSubstr("9 bytes"));
}

TEST(Pickle, ReadsContainersOfEveryProtocol) {
  const Pickle two =
      parse("\x80\x02}q\x00(X\x01\x00\x00\x00\x61]q\x01(K\x01K\x02\x65X\x01\x00\x00\x00\x62Nu."s);
  ASSERT_NE(two.find(two.root(), "a"), nullptr);
  const auto& list = std::get<Pickle::List>(*two.find(two.root(), "a")).items;
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(two[list[1]]), 2);
  EXPECT_TRUE(std::holds_alternative<Pickle::None>(*two.find(two.root(), "b")));
  EXPECT_EQ(two.find(two.root(), "c"), nullptr);
  EXPECT_EQ(two.find(*two.find(two.root(), "a"), "a"), nullptr);

  const Pickle four =
      parse("\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01k\x94K\x01K\x02\x86\x94s."s);
  EXPECT_EQ(std::get<Pickle::Tuple>(*four.find(four.root(), "k")).items.size(), 2u);
}

TEST(Pickle, LastValueOfARepeatedKeyCounts) {
  const Pickle pickle = parse("\x80\x02}(\x8c\x01kK\x01\x8c\x01kK\x02u."s);
  EXPECT_EQ(std::get<std::int64_t>(*pickle.find(pickle.root(), "k")), 2);
}

TEST(Pickle, MemoSharesValues) {
  // [l, l, l] with l = [7], filled through the last reference.
  const Pickle pickle = parse("\x80\x02](]q\x05h\x05h\x05K\x07\x61\x65."s);
  const auto& items = std::get<Pickle::List>(pickle.root()).items;
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0], items[2]);
  EXPECT_EQ(std::get<Pickle::List>(pickle[items[0]]).items.size(), 1u);
}

TEST(Pickle, RefusesWhatTensorsDoNotNeed) {
  EXPECT_THAT(refusal("\x80\x02\x63os\nsystem\n."s), HasSubstr("os.system"));
  EXPECT_THAT(refusal("\x80\x04\x8c\x08\x62uiltins\x8c\x04\x65val\x93."s), HasSubstr("builtins.eval"));
  EXPECT_THAT(refusal("\x80\x02\x63torch\nStorage\n."s), HasSubstr("torch.Storage"));
  // A module that merely begins like an allowed one, and a path through attributes.
  EXPECT_THAT(refusal("\x80\x02\x63torch._utils\n_rebuild_tensor_v2.__globals__\n."s),
              HasSubstr("__globals__"));
  EXPECT_THAT(refusal("\x80\x02(ios\nsystem\n."s), HasSubstr("INST"));
  EXPECT_THAT(refusal("\x80\x02]K\x00\x81."s), HasSubstr("NEWOBJ"));
  EXPECT_THAT(refusal("\x80\x02\x82\x01."s), HasSubstr("EXT1"));
  EXPECT_THAT(refusal("\x80\x04\x8f."s), HasSubstr("EMPTY_SET"));
  EXPECT_THAT(refusal("\x80\x05\x96\x00\x00\x00\x00\x00\x00\x00\x00."s), HasSubstr("BYTEARRAY8"));
  EXPECT_THAT(refusal("\x80\x02\xf0."s), HasSubstr("0xf0"));
  EXPECT_THAT(refusal("\x80\x02\x63\x1b[31m\nx\n."s), HasSubstr("?[31m.x"));
  // An allowed class is no value that may be called or changed at will.
  EXPECT_THAT(refusal("\x80\x02\x63torch\nFloatStorage\n)R."s), HasSubstr("outside the archive"));
  EXPECT_THAT(refusal("\x80\x02\x63torch\nFloatStorage\n}b."s), HasSubstr("attributes"));
  EXPECT_THAT(refusal("\x80\x02K\x01)R."s), HasSubstr("allowed class"));
}

TEST(Pickle, RefusesMalformedStreams) {
  EXPECT_THAT(refusal(""), HasSubstr("protocol 2 to 5"));
  EXPECT_THAT(refusal("(lp0\n."), HasSubstr("protocol 2 to 5"));
  EXPECT_THAT(refusal("\x80\x01N."s), HasSubstr("protocol 1"));
  EXPECT_THAT(refusal("\x80\x06N."s), HasSubstr("protocol 6"));
  EXPECT_THAT(refusal("\x80\x02N"s), HasSubstr("ends in the middle"));
  EXPECT_THAT(refusal("\x80\x02N.N"s), HasSubstr("follow its end"));
  EXPECT_THAT(refusal("\x80\x02."s), HasSubstr("0 values"));
  EXPECT_THAT(refusal("\x80\x02NN."s), HasSubstr("2 values"));
  EXPECT_THAT(refusal("\x80\x02N(."s), HasSubstr("instead of one"));
  EXPECT_THAT(refusal("\x80\x02t."s), HasSubstr("mark"));
  EXPECT_THAT(refusal("\x80\x02K\x01(\x85."s), HasSubstr("value is missing"));  // must not reach below a mark
  EXPECT_THAT(refusal("\x80\x02h\x00."s), HasSubstr("memo 0"));
  EXPECT_THAT(refusal("\x80\x02K\x01K\x02\x61."s), HasSubstr("an integer where a list"));
  EXPECT_THAT(refusal("\x80\x02}(K\x01u."s), HasSubstr("key without a value"));
  EXPECT_THAT(refusal("\x80\x02X\xff\xff\xff\xff\x61."s), HasSubstr("ends in the middle"));
  EXPECT_THAT(refusal("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff\x61."s), HasSubstr("ends in the middle"));
  EXPECT_THAT(refusal("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN."s), HasSubstr("frame"));
  EXPECT_THAT(refusal("\x80\x02\x63torch"s), HasSubstr("ends in the middle"));
}

TEST(Pickle, RefusesMalformedTensors) {
  const auto storage = [](const std::string& elements) {
    return "(\x8c\x07storage\x63torch\nFloatStorage\n\x8c\x01\x30\x8c\x03\x63pu"s + elements + "tQ"s;
  };
  const auto tensor = [&](const std::string& arguments) {
    return "\x80\x02\x63torch._utils\n_rebuild_tensor_v2\n("s + arguments + "tR."s;
  };
  const Pickle good = parse(tensor(storage("K\x06") + "K\x01K\x02K\x03\x86K\x03K\x01\x86\x89}"s));
  const auto& read = *std::get<std::shared_ptr<const Pickle::Tensor>>(good.root());
  EXPECT_EQ(read.storage->key, "0");
  EXPECT_EQ(read.storage->elements, 6);
  EXPECT_EQ(read.offset, 1);
  EXPECT_EQ(read.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(read.stride, (std::vector<std::int64_t>{3, 1}));

  EXPECT_THAT(refusal(tensor(storage("K\x06"))), HasSubstr("1 arguments"));
  EXPECT_THAT(refusal(tensor(storage("J\xff\xff\xff\xff") + "K\x00))"s)), HasSubstr("-1 elements"));
  EXPECT_THAT(refusal(tensor(storage("K\x06") + "J\xff\xff\xff\xff))"s)), HasSubstr("offset -1"));
  EXPECT_THAT(refusal(tensor(storage("K\x06") + "K\x00J\xfe\xff\xff\xff\x85K\x01\x85"s)), HasSubstr("-2"));
  EXPECT_THAT(refusal(tensor(storage("K\x06") + "K\x00K\x02\x85)"s)),
              HasSubstr("1 dimensions and 0 strides"));
  EXPECT_THAT(refusal(tensor(storage("K\x06") + "K\x00("s + repeat("K\x01", 17) + "t)"s)),
              HasSubstr("17 dimensions"));
  EXPECT_THAT(refusal(tensor("K\x01K\x00))"s)), HasSubstr("an integer where a storage"));
  EXPECT_THAT(refusal("\x80\x02K\x01\x85Q."s), HasSubstr("not the id of a storage"));
}

// A structure that doubles at every level (2^100 paths) is 100 small tuples here, and a list that holds
// itself is one list: neither parsing nor destroying follows the paths.
TEST(Pickle, SharedAndCyclicValuesStaySmall) {
  EXPECT_EQ(std::get<Pickle::Tuple>(parse("\x80\x02K\x01"s + repeat("q\x01h\x01\x86", 100) + "."s).root())
                .items.size(),
            2u);
  EXPECT_EQ(std::get<Pickle::List>(parse("\x80\x02]q\x01h\x01\x61."s).root()).items.size(), 1u);
}

TEST(Pickle, DeepNestingNeedsNoRecursion) {
  const Pickle deep = parse("\x80\x02)"s + repeat("\x85", 1'000'000) + "."s);
  EXPECT_EQ(std::get<Pickle::Tuple>(deep.root()).items.size(), 1u);
}

TEST(Pickle, BoundsTheNumberOfValues) {
  EXPECT_THAT(refusal("\x80\x02"s + repeat("]", 5'000'000) + "."s), HasSubstr("more than"));
  EXPECT_THAT(refusal("\x80\x02"s + repeat("(", 5'000'000) + "."s), HasSubstr("more than"));
  EXPECT_THAT(refusal("\x80\x04]"s + repeat("\x94", 5'000'000) + "."s), HasSubstr("more than"));  // one value
}

// 200,000 calls with the same tuple of 100,000 arguments must cost the references only, not 2 * 10^10 copies.
TEST(Pickle, RepeatedUseOfALargeTupleIsCheap) {
  const std::string tensor =
      "\x63torch._utils\n_rebuild_tensor_v2\n(("
      "\x8c\x07storage\x63torch\nFloatStorage\n\x8c\x01\x30\x8c\x03\x63pu"
      "K\x01tQK\x00))tR"s;
  const std::string code = "\x80\x02("s + tensor + repeat("N", 100'000) + "tq\x01" +
                           "\x63torch._utils\n_rebuild_parameter\nq\x02](" + repeat("h\x02h\x01R", 200'000) +
                           "e\x87.";
  EXPECT_EQ(std::get<Pickle::Tuple>(parse(code).root()).items.size(), 3u);
}

TEST(Pickle, EveryTruncationIsAnError) {
  const std::string code =
      "\x80\x02}q\x00(X\x01\x00\x00\x00\x61]q\x01(K\x01K\x02\x65X\x01\x00\x00\x00\x62G\x00\x00\x00\x00\x00\x00\x00\x00u."s;
  ASSERT_NO_THROW(parse(code));
  for (std::size_t length = 0; length < code.size(); ++length)
    EXPECT_NE(refusal(code.substr(0, length)), "accepted") << length;
}

}  // namespace
}  // namespace augur

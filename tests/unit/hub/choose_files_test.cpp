#include "hub/choose_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::error_of;

HubChoice choose(std::vector<std::string> paths, const std::string& model, const std::string& file = "") {
  std::sort(paths.begin(), paths.end());
  HubModel wanted = HubModel::parse(model);
  wanted.file = file;
  return choose_files(paths, wanted);
}

const std::vector<std::string> kFiles = {"README.md",       "config.json",       "m-BF16.gguf",
                                         "m-IQ4_XS.gguf",   "m-Q4_K_M.gguf",     "m-Q8_0.gguf",
                                         "mmproj-F16.gguf", "imatrix_Q2_K.gguf", "mtp-m-Q8_0.gguf"};

TEST(ChooseFiles, OfTheQuantThatIsAskedFor) {
  EXPECT_EQ(choose(kFiles, "o/n:Q8_0").model, "m-Q8_0.gguf");
  EXPECT_THAT(choose(kFiles, "o/n:q8_0").files, ElementsAre("m-Q8_0.gguf"));
  EXPECT_EQ(choose(kFiles, "o/n:iq4_xs").model, "m-IQ4_XS.gguf");
  EXPECT_THAT(error_of([] { choose(kFiles, "o/n:Q4_XS"); }),
              HasSubstr("o/n: has no GGUF file of Q4_XS; it has m-BF16"));
  EXPECT_THAT(error_of([] { choose(kFiles, "o/n:F16"); }), HasSubstr("no GGUF file of F16"));
  EXPECT_THAT(error_of([] { choose(kFiles, "o/n:Q2_K"); }), HasSubstr("no GGUF file of Q2_K"));
  EXPECT_THAT(error_of([] { choose({"config.json"}, "o/n:Q8_0"); }), HasSubstr("no GGUF file of Q8_0"));
}

TEST(ChooseFiles, WithoutAQuantTheUsualOnes) {
  EXPECT_EQ(choose(kFiles, "o/n").model, "m-Q4_K_M.gguf");
  EXPECT_EQ(choose(kFiles, "o/n:latest").model, "m-Q4_K_M.gguf");
  EXPECT_EQ(choose({"m-BF16.gguf", "m-Q8_0.gguf"}, "o/n").model, "m-Q8_0.gguf");
  EXPECT_EQ(choose({"mmproj-m.gguf", "z.gguf", "y.gguf"}, "o/n").model, "y.gguf");
  EXPECT_EQ(choose({"Q4_K_M/m-Q4_K_M.gguf", "a.gguf"}, "o/n").model, "Q4_K_M/m-Q4_K_M.gguf");
  // Files whose folder alone tells them apart.
  const std::vector<std::string> folders = {"Q4_K_M/m-00001-of-00002.gguf", "Q4_K_M/m-00002-of-00002.gguf",
                                            "Q8_0/m.gguf", "UD-Q2_K_XL/m.gguf", "other/Q8_0.txt"};
  EXPECT_THAT(choose(folders, "o/n").files,
              ElementsAre("Q4_K_M/m-00001-of-00002.gguf", "Q4_K_M/m-00002-of-00002.gguf"));
  EXPECT_EQ(choose(folders, "o/n:q8_0").model, "Q8_0/m.gguf");
  EXPECT_EQ(choose(folders, "o/n:Q2_K_XL").model, "UD-Q2_K_XL/m.gguf");
  EXPECT_THAT(error_of([&] { choose(folders, "o/n:Q2_K"); }), HasSubstr("no GGUF file of Q2_K"));
  EXPECT_EQ(choose({"Q8_0/m-F16.gguf", "m-Q8_0.gguf"}, "o/n:Q8_0").model, "m-Q8_0.gguf");
}

TEST(ChooseFiles, PartsComeTogether) {
  const std::vector<std::string> parts = {"Q8_0/m-Q8_0-00001-of-00002.gguf",
                                          "Q8_0/m-Q8_0-00002-of-00002.gguf",
                                          "Q8_0/m-Q8_0-00001-of-00003.gguf"};
  const HubChoice choice = choose(parts, "o/n:Q8_0");
  EXPECT_EQ(choice.model, parts[0]);
  EXPECT_THAT(choice.files, ElementsAre(parts[0], parts[1]));
  EXPECT_EQ(choose(parts, "o/n", parts[1]).model, parts[0]);
  EXPECT_THAT(error_of([&] { choose({parts[0]}, "o/n"); }),
              HasSubstr("m-Q8_0-00002-of-00002.gguf is missing: part 2 of 2"));
  EXPECT_THAT(error_of([&] { choose({"x-00001-of-99999.gguf"}, "o/n"); }),
              HasSubstr("x-00002-of-99999.gguf"));
}

TEST(ChooseFiles, AFileByItsName) {
  EXPECT_EQ(choose(kFiles, "o/n:Q8_0", "mtp-m-Q8_0.gguf").model, "mtp-m-Q8_0.gguf");
  EXPECT_THAT(error_of([] { choose(kFiles, "o/n", "../m.gguf"); }),
              HasSubstr("o/n: has no file ../m.gguf; it has README"));
}

TEST(ChooseFiles, AFolderWhereThereIsNoGguf) {
  const HubChoice whole = choose({"README.md", "config.json", "model.safetensors", "pytorch_model.bin",
                                  "tokenizer.json", "original/consolidated.00.pth", "onnx/model.onnx"},
                                 "o/n");
  EXPECT_EQ(whole.model, "");
  EXPECT_THAT(whole.files, ElementsAre("config.json", "tokenizer.json", "model.safetensors"));
  const HubChoice shards =
      choose({"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
              "model.safetensors.index.json", "sub/model-00001-of-00002.safetensors"},
             "o/n");
  EXPECT_THAT(shards.files,
              ElementsAre("config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
                          "model-00002-of-00002.safetensors"));
  EXPECT_THAT(choose({"config.json", "pytorch_model.bin"}, "o/n").files,
              ElementsAre("config.json", "pytorch_model.bin"));
  EXPECT_THAT(choose({"config.json", "medusa_lm_head.pt"}, "o/n").files,
              ElementsAre("config.json", "medusa_lm_head.pt"));
  EXPECT_THAT(
      error_of([] {
        choose({"README.md", "mmproj-x.gguf"}, "o/n");
      }),
      HasSubstr("o/n: holds no model: expected a GGUF file, or config.json with weights; it has README.md"));
  EXPECT_THAT(error_of([] { choose({}, "o/n"); }), HasSubstr("no files"));
}

}  // namespace
}  // namespace augur

// Medusa heads under the names that vLLM's converter gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "draft/detect.h"
#include "files/safetensors_writer.h"
#include "files/torch_archive.h"
#include "support/golden_head.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::GoldenHead;
using testing_support::GoldenRun;
using testing_support::GoldenTarget;

class MedusaLayout : public testing::TestWithParam<const char*> {
 protected:
  /// "2.0.linear.bias" -> "blocks.2.layers.0.bias", "2.1.weight" -> "lm_heads.2.weight".
  static std::string renamed(std::string name) {
    if (name.starts_with("medusa_head.")) name = name.substr(name.find('.') + 1);
    const std::string head = name.substr(0, name.find('.'));
    const std::string rest = name.substr(head.size() + 1);
    const std::string part = rest.substr(rest.rfind('.'));
    const bool block = rest.find("linear") != std::string::npos;
    return block ? fmt::format("blocks.{}.layers.{}{}", head, rest.substr(0, rest.find('.')), part)
                 : fmt::format("lm_heads.{}{}", head, part);
  }
  void write(const std::string& prefix, const std::string& extra = {}) {
    const auto store = open_torch_archive(golden_.folder / "medusa_lm_head.pt");
    std::vector<SafetensorsWriter::Entry> entries;
    for (const auto& [name, tensor] : store->tensors()) {
      entries.push_back({.name = prefix + renamed(name), .dtype = tensor.dtype, .shape = tensor.shape});
    }
    if (!extra.empty()) entries.push_back({.name = prefix + extra, .dtype = DType::F32, .shape = {1}});
    SafetensorsWriter writer(folder_.path() / "model.safetensors", entries);
    for (const auto& [name, tensor] : store->tensors()) writer.write(tensor.bytes);
    const float nothing = 0;
    if (!extra.empty()) writer.write(std::as_bytes(std::span(&nothing, 1)));
    writer.finish();
    std::ofstream(folder_.path() / "config.json") << R"({"model_type": "medusa", "num_heads": 4})";
  }

  GoldenHead golden_{GetParam()};
  GoldenTarget target_{WeightFormat::F32};
  testing_support::TemporaryFolder folder_;
};

TEST_P(MedusaLayout, RenamedHeadsDraftTheSame) {
  for (const char* prefix : {"", "medusa_heads."}) {
    write(prefix);
    const Checkpoint head = Checkpoint::open(folder_.path());
    EXPECT_EQ(detect_drafter_type(head), "medusa");
    const auto model = target_.load("medusa", head);
    GoldenRun run(golden_, *model, 1e-4f, false);
    run.run();
    EXPECT_GT(run.worst(), 0.0f);
  }
}

TEST_P(MedusaLayout, APartOfTheVocabularyIsRefused) {
  write("", "token_map");
  const Checkpoint head = Checkpoint::open(folder_.path());
  try {
    target_.load("medusa", head);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("token_map"));
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, MedusaLayout, testing::Values("medusa", "medusa_two_layers"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur

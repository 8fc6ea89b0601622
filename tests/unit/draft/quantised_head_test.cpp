// A draft head as a GGUF file is the head of its folder.
#include <gtest/gtest.h>

#include <filesystem>

#include "draft/detect.h"
#include "model/quantize_model.h"
#include "support/golden_head.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::golden_head_path;
using testing_support::GoldenTarget;
using testing_support::TemporaryFolder;

TEST(QuantisedHead, IsFoundAndLoadsAsItsFolderDoes) {
  GoldenTarget target(WeightFormat::Auto);
  TemporaryFolder out;
  ThreadPool pool(2);
  for (const char* name : {"eagle3_official", "eagle3_speculators", "eagle", "medusa", "hydra"}) {
    SCOPED_TRACE(name);
    const Checkpoint folder = Checkpoint::open(golden_head_path(name));
    const std::string_view type = detect_drafter_type(folder);
    for (const DType dtype : {DType::F32, DType::Q8_0}) {
      const std::filesystem::path path = out.path() / (std::string(name) + ".gguf");
      quantize_model(pool, folder, path, {.type = dtype});
      const Checkpoint file = Checkpoint::open(path);
      EXPECT_EQ(detect_drafter_type(file), type);
      EXPECT_EQ(file.config(), folder.config());
      for (const auto& [tensor_name, tensor] : folder.weights().tensors()) {
        const StoredTensor* written = file.weights().find(tensor_name);
        ASSERT_NE(written, nullptr) << tensor_name;
        EXPECT_EQ(written->shape, tensor.shape) << tensor_name;
      }
      EXPECT_NE(target.load(type, file), nullptr);
    }
  }
}

}  // namespace
}  // namespace augur

#pragma once
#include <augur/session.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "features.h"
#include "support/temporary_folder.h"

// What features.h does in C, in C++.
namespace augur::testing_support {

/// What came of a feature.
struct Outcome {
  std::vector<std::int32_t> ids;
  std::vector<double> numbers;
  std::string text;
  std::filesystem::path folder;  ///< an empty one, for files

  void add(std::string_view line) { (text += line) += '\n'; }
  void add(double number) { numbers.push_back(number); }
  void add(const Result& result) {
    ids.insert(ids.end(), result.tokens.begin(), result.tokens.end());
    add(result.text);
  }
  void add(const Error& error) {
    add(static_cast<double>(error.kind()));
    add(error.field());
    add(error.what());
  }
  void add_failure(const std::function<void()>& of) {
    try {
      of();
      ADD_FAILURE() << "is not refused";
    } catch (const Error& error) {
      add(error);
    }
  }
};

inline std::string feature_path(const std::string& below) {
  return std::string(AUGUR_SOURCE_DIR) + "/" + below;
}
inline std::string feature_model() {
  return feature_path("models/stories260k");
}
constexpr const char* kFeatureGguf = "tests/golden/mtp_models/qwen3_5_mtp/model.gguf";
constexpr const char* kFeatureHead = "models/smollm2-eagle3";

inline EngineOptions usual_feature_options() {
  EngineOptions options;
  options.model = feature_model();
  options.draft_model = options.model;
  options.speculation = SpeculationPlan::parse("draft,ngram:n-max=4");
  options.threads = 2;
  options.cost_cache = "none";
  options.draft_weights = DraftWeightFormat::Native;  // not by times
  return options;
}

inline Request usual_feature_request() {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 24;
  return request;
}

/// Runs the feature in C, and the same in C++.
inline void expect_same(feature* in_c, const std::function<void(Outcome&)>& in_cpp) {
  const TemporaryFolder of_c;
  const TemporaryFolder of_cpp;
  const std::string model = feature_model();
  const std::string folder = of_c.path().string();
  const std::string gguf = feature_path(kFeatureGguf);
  const std::string head = feature_path(kFeatureHead);
  const place where = {
      .model = model.c_str(), .folder = folder.c_str(), .gguf = gguf.c_str(), .head = head.c_str()};
  const auto found = std::make_unique<outcome>();
  const char* const failure = in_c(&where, found.get());
  ASSERT_EQ(failure, nullptr) << failure << ": " << augur_last_error();
  Outcome expected;
  expected.folder = of_cpp.path();
  in_cpp(expected);
  EXPECT_EQ(std::vector(found->ids, found->ids + found->id_count), expected.ids);
  EXPECT_EQ(std::vector(found->numbers, found->numbers + found->number_count), expected.numbers);
  EXPECT_EQ(found->text, expected.text);
  EXPECT_GT(expected.ids.size() + expected.numbers.size() + expected.text.size(), 0u) << "compares nothing";
}

}  // namespace augur::testing_support

// Features of loading in C and in C++: the same.
#include <augur/memory_estimate.h>
#include <augur/model_description.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "features_in_cpp.h"

namespace {

using namespace augur;
using namespace augur::testing_support;

TEST(CFeatures, Log) {
  expect_same(feature_log, [](Outcome& out) {
    EngineOptions options = usual_feature_options();
    options.fallback_template = "{{ messages[0].content }}";
    int warnings = 0;
    options.log = [&](LogLevel level, std::string_view text) {
      out.add(static_cast<double>(level));
      out.add(text);
      if (level < LogLevel::Warning) return;
      ++warnings;
      out.add("warning");
      out.add(text);
    };
    const Engine engine(options);
    EXPECT_GT(warnings, 0);
    EXPECT_GT(std::ssize(out.numbers), warnings);
  });
}

void add_description(Outcome& out, const ModelDescription& from) {
  const ModelDescription::Shape shape = from.shape.value_or(ModelDescription::Shape());
  for (const std::string& text : {from.path, shape.family, from.tokenizer, from.chat_template, from.head_type,
                                  from.head_target, from.own_drafter})
    out.add(text);
  for (const std::int64_t number :
       {std::int64_t{from.gguf}, std::int64_t{from.shape.has_value()}, shape.layers, shape.hidden,
        shape.intermediate, shape.heads, shape.kv_heads, shape.head_dim, shape.vocab, shape.context,
        std::int64_t{shape.tied_embeddings}, from.tensors, from.parameters, from.weight_bytes})
    out.add(static_cast<double>(number));
  for (const ModelDescription::File& file : from.files) {
    out.add(file.path);
    out.add(static_cast<double>(file.tensors));
    out.add(static_cast<double>(file.bytes));
  }
  for (const ModelDescription::WeightType& type : from.weight_types) {
    out.add(type.name);
    out.add(static_cast<double>(type.tensors));
    out.add(static_cast<double>(type.bytes));
  }
  for (const auto& [key, text] : from.metadata) {
    out.add(key);
    out.add(text);
  }
  for (const ModelDescription::Problem& problem : from.problems) {
    out.add(static_cast<double>(problem.kind));
    out.add(problem.text);
  }
}

TEST(CFeatures, Description) {
  expect_same(feature_description, [](Outcome& out) {
    const ModelDescription head = describe_model(feature_path(kFeatureHead));
    const ModelDescription gguf = describe_model(feature_path(kFeatureGguf));
    EXPECT_FALSE(head.shape);
    EXPECT_GT(gguf.metadata.size(), 3u);
    add_description(out, describe_model(feature_model()));
    add_description(out, head);
    add_description(out, gguf);
    std::ofstream(out.folder / "config.json") << R"({"model_type": "unheard-of"})";
    const ModelDescription unheard_of = describe_model(out.folder.string());
    ASSERT_EQ(unheard_of.problems.size(), 1u);
    out.add(static_cast<double>(unheard_of.problems[0].kind));
    out.add_failure([] { describe_model("nothing"); });
  });
}

TEST(CFeatures, MemoryEstimate) {
  expect_same(feature_memory_estimate, [](Outcome& out) {
    const EngineOptions options = usual_feature_options();
    for (const MemoryEstimate& each :
         {estimate_memory(options, 2), estimate_memory(options, {.parallel = 3, .cache_bytes = 1 << 20})}) {
      for (const std::int64_t number :
           {each.mapped, each.weights, each.draft_weights, each.workspace, each.token, each.text, each.texts,
            each.kept, each.loaded(), each.most()})
        out.add(static_cast<double>(number));
    }
    EXPECT_GT(out.numbers[9], out.numbers[1]);
  });
}

/// The ids of an engine made of the content, and what is said of it.
void add_loaded(Outcome& out, const ModelContent& content) {
  EngineOptions options = usual_feature_options();
  options.model = "content";
  options.draft_model.clear();
  options.speculation = SpeculationPlan::parse("ngram:n-max=4");
  options.model_content = content;
  Engine engine(options);
  out.add(engine.info().path);
  out.add(engine.info().fingerprint);
  Request request;
  request.prompt_tokens = {5, 6, 7, 8};
  request.max_tokens = 16;
  const Result result = engine.generate(request);
  EXPECT_FALSE(result.tokens.empty());
  out.add(result);
  add_description(out, describe_model(content, "content"));
}

TEST(CFeatures, Content) {
  expect_same(feature_content, [](Outcome& out) {
    const std::string path = feature_path(kFeatureGguf);
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
    add_loaded(out, {.bytes = bytes});
    EngineOptions half = usual_feature_options();
    half.model_content.bytes = bytes.first(bytes.size() / 2);
    out.add_failure([&] { const Engine refused(half); });
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    add_loaded(out, {.descriptor = descriptor});
    close(descriptor);
  });
}

}  // namespace

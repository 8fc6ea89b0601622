// Features of an engine in C and in C++: the same.
#include <augur/build_info.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features_in_cpp.h"

namespace {

using namespace augur;
using namespace augur::testing_support;

constexpr const char* kTemplate =
    "{% for m in messages %}[{{ m.role }}|{{ m.content }}{% if m.reasoning_content %}|{{ m.reasoning_content "
    "}}{% "
    "endif %}{% for c in m.tool_calls %}|{{ c.id }}:{{ c.function.name }}:{{ c.function.arguments }}{% "
    "endfor %}"
    "{% if m.tool_call_id %}|{{ m.tool_call_id }}|{{ m.name }}{% endif %}]{% endfor %}"
    "{% if tools %}{{ tools | length }} tools{% endif %}{{ colour }}{{ mood }}"
    "{% if add_generation_prompt %}[assistant|{% endif %}";

EngineOptions chatting() {
  EngineOptions options = usual_feature_options();
  options.chat_template = kTemplate;
  options.template_kwargs = R"({"colour": "red", "mood": "calm"})";
  return options;
}

Message message(const char* role, const char* content) {
  Message made;
  made.role = role;
  made.content = content;
  return made;
}

Request asking(std::vector<Message> messages) {
  Request request;
  request.max_tokens = 16;
  request.messages = std::move(messages);
  return request;
}

TEST(CFeatures, Templates) {
  expect_same(feature_templates, [](Outcome& out) {
    Request request = asking({message("system", "Be brief."), message("user", "Hi")});
    request.template_kwargs = R"({"mood": "gay"})";
    const Engine engine(chatting());
    out.add(engine.render_chat(request));
    out.add(engine.chat_template());
    EngineOptions options = usual_feature_options();
    options.fallback_template = "{{ messages[0].content }}";
    request.template_kwargs.clear();
    out.add(Engine(options).render_chat(request));
    out.add_failure([&] { Engine(usual_feature_options()).render_chat(request); });
    options.template_kwargs = "[]";
    out.add_failure([&] { const Engine refused(options); });
  });
}

TEST(CFeatures, Tools) {
  expect_same(feature_tools, [](Outcome& out) {
    Message call = message("assistant", "");
    call.tool_calls = {{.id = "c1", .name = "weather", .arguments = R"({"city": "Oslo"})"},
                       {.id = "c2", .name = "time", .arguments = "{}"}};
    call.reasoning = "look it up";
    call.absence = Message::Absence::Null;
    Message answer = message("tool", "3 degrees");
    answer.tool_call_id = "c1";
    answer.name = "weather";
    Request request = asking({message("user", "Warm?"), call, answer});
    request.tools =
        R"([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}])";
    Engine engine(chatting());
    out.add(engine.render_chat(request));
    EXPECT_NE(out.text.find("c1:weather"), std::string::npos) << out.text;
    out.add(engine.generate(request));
  });
}

TEST(CFeatures, Chat) {
  expect_same(feature_chat, [](Outcome& out) {
    out.add(Engine(chatting()).generate(asking({message("system", "Be brief."), message("user", "Once")})));
  });
}

TEST(CFeatures, ChatEnds) {
  expect_same(feature_chat_ends, [](Outcome& out) {
    Request request = asking({message("user", "Tell"), message("assistant", "Once")});
    const Engine engine(chatting());
    request.chat_end = ChatEnd::Turn;
    out.add(engine.render_chat(request));
    request.chat_end = ChatEnd::Continue;
    out.add(engine.render_chat(request));
  });
}

TEST(CFeatures, Tokenize) {
  expect_same(feature_tokenize, [](Outcome& out) {
    const Engine engine(usual_feature_options());
    for (const bool special : {true, false}) {
      for (const bool part : {false, true}) {
        constexpr const char* kText = "Lily</s> was <s>happy";
        const auto ids = part ? engine.tokenize_part(kText, special) : engine.tokenize(kText, special);
        out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      }
    }
  });
}

TEST(CFeatures, Detokenize) {
  expect_same(feature_detokenize, [](Outcome& out) {
    const Engine engine(usual_feature_options());
    const std::vector<TokenId> tokens = {1, 403, 407, 261, 378, 2};
    out.add(engine.detokenize(tokens));
    out.add(engine.detokenize(tokens, true));
  });
}

TEST(CFeatures, TokenBytes) {
  expect_same(feature_token_bytes, [](Outcome& out) {
    const Engine engine(usual_feature_options());
    for (TokenId token = 0; token < 512; ++token) {
      for (const char byte : engine.token_bytes(token)) out.add(static_cast<unsigned char>(byte));
    }
  });
}

TEST(CFeatures, PromptTokens) {
  expect_same(feature_prompt_tokens, [](Outcome& out) {
    out.ids = Engine(usual_feature_options()).prompt_tokens(usual_feature_request());
  });
}

TEST(CFeatures, ModelInfo) {
  expect_same(feature_model_info, [](Outcome& out) {
    const Engine engine(usual_feature_options());
    const ModelInfo& info = engine.info();
    for (const std::string& text :
         {info.path, info.family, info.weights, info.isa, info.bos_token, info.eos_token, info.fingerprint})
      out.add(text);
    for (const std::int64_t number :
         {std::int64_t{info.vocab}, info.context, info.weight_bytes, std::int64_t{info.law},
          std::int64_t{info.threads}, std::int64_t{info.has_chat_template}})
      out.add(static_cast<double>(number));
    out.ids = info.end_tokens;
  });
}

TEST(CFeatures, InfillTokens) {
  expect_same(feature_infill_tokens, [](Outcome& out) {
    const InfillTokens tokens = Engine(usual_feature_options()).infill_tokens();
    for (const auto& token : {tokens.prefix, tokens.suffix, tokens.middle, tokens.repository, tokens.file})
      out.add(token.value_or(-1));
  });
}

TEST(CFeatures, EnginePlan) {
  expect_same(feature_engine_plan, [](Outcome& out) {
    const Engine engine(usual_feature_options());
    out.add(to_string(engine.speculation()));
    out.add(fmt::format("{}", fmt::join(engine.drafters(), ",")));
  });
}

TEST(CFeatures, TypesAndPolicies) {
  expect_same(feature_types_and_policies, [](Outcome& out) {
    for (const SpeculationType& type : speculation_types()) {
      out.add(type.name);
      out.add(type.alias);
      out.add(type.summary);
      out.add(static_cast<double>(type.needs_draft_model));
      out.add(static_cast<double>(type.in_models));
    }
    for (const SpeculationPolicy& policy : speculation_policies()) {
      out.add(policy.name);
      out.add(policy.summary);
    }
  });
}

TEST(CFeatures, BuildInfo) {
  expect_same(feature_build_info, [](Outcome& out) {
    const BuildInfo& info = build_info();
    for (const std::string_view text : {info.version, info.commit, info.compiler, info.type, info.flags})
      out.add(text);
  });
}

TEST(CFeatures, Costs) {
  expect_same(feature_costs, [](Outcome& out) {
    const MeasuredCosts costs = Engine(usual_feature_options()).costs(true);
    for (const int rows : costs.verify.rows) out.add(rows);
    out.add(costs.context);
    out.add(costs.experts.count);
    out.add(static_cast<double>(costs.experts.rows.size()));
    out.add(costs.file);
    for (const MeasuredCosts::Draft& draft : costs.drafters) {
      out.add(draft.name);
      for (const auto* curve : {&draft.first_level, &draft.level}) {
        for (const int rows : curve->rows) out.add(rows);
      }
    }
  });
}

TEST(CFeatures, Forget) {
  expect_same(feature_forget, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Request request = usual_feature_request();
    request.speculation = SpeculationPlan::parse("suffix:n-max=4");
    for (int i = 0; i < 3; ++i) {
      const Result result = engine.generate(request);
      out.add(static_cast<double>(result.speculation.calls));
      out.add(result);
      if (i == 1) engine.forget();
    }
    EXPECT_LT(out.numbers[1], out.numbers[0]) << "has learnt";
    EXPECT_EQ(out.numbers[2], out.numbers[0]) << "has forgotten";
  });
}

TEST(CFeatures, Progress) {
  expect_same(feature_progress, [](Outcome& out) {
    EngineOptions options = usual_feature_options();
    options.progress = [&](std::string_view what, double fraction) {
      if (fraction == 1.0) out.add(what);
    };
    const Engine engine(options);
  });
}

TEST(CFeatures, AbortedLoading) {
  expect_same(feature_aborted_loading, [](Outcome& out) {
    EngineOptions options = usual_feature_options();
    std::atomic<bool> cancel = false;
    options.cancel = &cancel;
    int calls = 0;
    options.progress = [&](std::string_view, double) {
      ++calls;
      cancel = true;
    };
    const auto load = [&] {
      try {
        const Engine engine(options);
        ADD_FAILURE() << "is loaded";
      } catch (const Error& error) {
        out.add(static_cast<double>(error.kind()));
      }
    };
    load();
    EXPECT_EQ(calls, 1);
    options.progress = {};
    load();
  });
}

}  // namespace

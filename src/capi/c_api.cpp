#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "augur/augur.h"
#include "augur/engine.h"
#include "base/error.h"

struct augur_engine {
  augur::Engine engine;
};

struct augur_result {
  augur::Result result;
};

namespace {

thread_local std::string last_error;

/// Runs `body`; an exception becomes null and the thread's last error.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    last_error.clear();
    return body();
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "unknown failure";
  }
  return nullptr;
}

/// The caller's struct as this version knows it: fields that an older caller lacks keep their defaults.
template <class Options>
Options complete(const Options* given, Options defaults, const char* what) {
  if (given == nullptr) throw augur::Error("{} is NULL", what);
  if (given->size < sizeof(std::size_t) || given->size > 1 << 16) {
    throw augur::Error("{}: size is {}; start from its _default function", what, given->size);
  }
  std::memcpy(&defaults, given, std::min(given->size, sizeof(Options)));
  return defaults;
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string{} : std::string(text);
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

augur::EngineOptions engine_options(const augur_engine_options& from) {
  augur::EngineOptions to;
  to.model = text_or_empty(from.model);
  to.draft_model = text_or_empty(from.draft_model);
  to.threads = from.threads;
  to.pin_threads = from.pin_threads != 0;
  to.context = from.context;
  const std::string weights = text_or_empty(from.weights);
  if (weights == "native") {
    to.weights = augur::WeightFormat::Native;
  } else if (weights == "bf16") {
    to.weights = augur::WeightFormat::BF16;
  } else if (weights == "f32") {
    to.weights = augur::WeightFormat::F32;
  } else if (!weights.empty() && weights != "auto") {
    throw augur::Error("weights is '{}': expected auto, native, bf16 or f32", weights);
  }
  augur::SpeculationOptions& spec = to.speculation;
  spec.types = split_list(text_or_empty(from.spec_types));
  spec.policy = text_or_empty(from.policy);
  spec.draft_max = from.draft_max;
  spec.draft_min = from.draft_min;
  spec.draft_p_min = from.draft_p_min;
  spec.tree_topk = from.tree_topk;
  spec.tree_depth = from.tree_depth;
  spec.tree_size = from.tree_size;
  spec.coupling = from.coupling != 0;
  const std::string verification = text_or_empty(from.verification);
  if (verification == "rejection") {
    spec.verification = augur::Verification::Rejection;
  } else if (!verification.empty() && verification != "walk") {
    throw augur::Error("verification is '{}': expected walk or rejection", verification);
  }
  return to;
}

augur::Request request_of(const augur_request& from) {
  augur::Request to;
  if (from.chat != 0) {
    if (from.system != nullptr) to.messages.push_back({"system", from.system});
    to.messages.push_back({"user", text_or_empty(from.prompt)});
  } else {
    to.prompt = text_or_empty(from.prompt);
  }
  to.max_tokens = from.max_tokens;
  if (from.stop_count > 0 && from.stop == nullptr)
    throw augur::Error("stop is NULL, but stop_count is not 0");
  for (std::size_t i = 0; i < from.stop_count; ++i) to.stop.push_back(text_or_empty(from.stop[i]));
  to.ignore_eos = from.ignore_eos != 0;
  to.sampling.temperature = from.temperature;
  to.sampling.top_k = from.top_k;
  to.sampling.top_p = from.top_p;
  to.sampling.min_p = from.min_p;
  to.sampling.repetition_penalty = from.repetition_penalty;
  to.sampling.presence_penalty = from.presence_penalty;
  to.sampling.frequency_penalty = from.frequency_penalty;
  to.sampling.seed = from.seed;
  return to;
}

}  // namespace

const char* augur_version(void) {
  return augur::version().data();
}

const char* augur_last_error(void) {
  return last_error.c_str();
}

augur_engine_options augur_engine_options_default(void) {
  const augur::SpeculationOptions spec;
  augur_engine_options out{};
  out.size = sizeof(out);
  out.draft_max = spec.draft_max;
  out.draft_min = spec.draft_min;
  out.draft_p_min = spec.draft_p_min;
  out.tree_topk = spec.tree_topk;
  out.tree_depth = spec.tree_depth;
  out.tree_size = spec.tree_size;
  out.coupling = spec.coupling ? 1 : 0;
  return out;
}

augur_request augur_request_default(void) {
  const augur::SamplingOptions sampling;
  augur_request out{};
  out.size = sizeof(out);
  out.max_tokens = -1;
  out.top_p = sampling.top_p;
  out.repetition_penalty = sampling.repetition_penalty;
  return out;
}

augur_engine* augur_load(const augur_engine_options* options) {
  return guarded([&] {
    const augur_engine_options all =
        complete(options, augur_engine_options_default(), "augur_engine_options");
    return new augur_engine{augur::Engine(engine_options(all))};
  });
}

void augur_free(augur_engine* engine) {
  delete engine;
}

augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user) {
  return guarded([&] {
    if (engine == nullptr) throw augur::Error("the engine is NULL");
    const augur_request all = complete(request, augur_request_default(), "augur_request");
    augur::TokenCallback callback;
    if (on_token != nullptr) {
      callback = [=](const augur::TokenEvent& event) {
        return on_token(event.text.data(), event.text.size(), event.token, user) != 0;
      };
    }
    return new augur_result{engine->engine.generate(request_of(all), callback)};
  });
}

void augur_result_free(augur_result* result) {
  delete result;
}

const char* augur_result_text(const augur_result* result) {
  return result->result.text.c_str();
}

const int32_t* augur_result_tokens(const augur_result* result, size_t* count) {
  *count = result->result.tokens.size();
  return result->result.tokens.data();
}

const char* augur_result_finish_reason(const augur_result* result) {
  return result->result.finish_reason.c_str();
}

double augur_result_tokens_per_second(const augur_result* result) {
  return result->result.tokens_per_second;
}

double augur_result_mean_accepted_length(const augur_result* result) {
  return result->result.speculation.mean_accepted_length;
}

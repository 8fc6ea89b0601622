#include "values.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "augur/build_info.h"
#include "augur/engine.h"
#include "augur/session.h"
#include "generation.h"
#include "text.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

void bind_logprobs(nb::module_& module) {
  nb::class_<TokenLogprob>(module, "TokenLogprob")
      .def_ro("token", &TokenLogprob::token)
      .def_ro("logprob", &TokenLogprob::logprob);
  nb::class_<TokenLogprobs>(module, "TokenLogprobs")
      .def_ro("logprob", &TokenLogprobs::logprob)
      .def_ro("top", &TokenLogprobs::top);
}

void bind_rounds(nb::module_& module) {
  nb::class_<Round> round(module, "Round");
  nb::class_<Round::Node>(round, "Node")
      .def_ro("token", &Round::Node::token)
      .def_ro("parent", &Round::Node::parent)
      .def_ro("proposer", &Round::Node::proposer)
      .def_ro("probability", &Round::Node::probability)
      .def_ro("accepted", &Round::Node::accepted);
  round.def_ro("next", &Round::next)
      .def_ro("drafted", &Round::drafted)
      .def_ro("batch_rows", &Round::batch_rows)
      .def_ro("draft_ms", &Round::draft_ms)
      .def_ro("verify_ms", &Round::verify_ms)
      .def_ro("other_ms", &Round::other_ms)
      .def_ro("nodes", &Round::nodes);
}

void bind_result(nb::module_& module) {
  nb::class_<SpeculationStatistics>(module, "SpeculationStatistics")
      .def_ro("type", &SpeculationStatistics::type)
      .def_ro("calls", &SpeculationStatistics::calls)
      .def_ro("verified_tokens", &SpeculationStatistics::verified_tokens)
      .def_ro("drafted_tokens", &SpeculationStatistics::drafted_tokens)
      .def_ro("accepted_tokens", &SpeculationStatistics::accepted_tokens)
      .def_ro("mean_accepted_length", &SpeculationStatistics::mean_accepted_length)
      .def_ro("accepted_per_position", &SpeculationStatistics::accepted_per_position)
      .def_ro("draft_ms", &SpeculationStatistics::draft_ms)
      .def_ro("classify_ms", &SpeculationStatistics::classify_ms)
      .def_ro("verify_ms", &SpeculationStatistics::verify_ms)
      .def_ro("other_ms", &SpeculationStatistics::other_ms);
  nb::class_<Result>(module, "Result")
      .def_prop_ro("text", [](const Result& result) { return text(result.text); })
      .def_ro("tokens", &Result::tokens)
      .def_ro("logprobs", &Result::logprobs)
      .def_ro("prompt_logprobs", &Result::prompt_logprobs)
      .def_ro("prompt_tokens", &Result::prompt_tokens)
      .def_ro("cached_tokens", &Result::cached_tokens)
      .def_ro("prompt_ms", &Result::prompt_ms)
      .def_ro("decode_ms", &Result::decode_ms)
      .def_ro("tokens_per_second", &Result::tokens_per_second)
      .def_prop_ro("finish_reason",
                   [](const Result& result) { return text(to_string(result.finish_reason)); })
      .def_prop_ro("stop_string", [](const Result& result) { return text(result.stop_string); })
      .def_prop_ro("warnings",
                   [](const Result& result) {
                     nb::typed<nb::list, nb::str> all;
                     for (const std::string& warning : result.warnings) all.append(text(warning));
                     return all;
                   })
      .def_prop_ro("error", [](const Result& result) { return text(result.error); })
      .def_ro("error_kind", &Result::error_kind)
      .def_prop_ro("refused_field", [](const Result& result) { return text(result.refused_field); })
      .def_ro("expired", &Result::expired)
      .def_ro("crowded_out", &Result::crowded_out)
      .def_ro("speculation", &Result::speculation);
}

void bind_information(nb::module_& module) {
  nb::class_<ModelInfo>(module, "ModelInfo")
      .def_ro("path", &ModelInfo::path)
      .def_ro("family", &ModelInfo::family)
      .def_ro("vocab", &ModelInfo::vocab)
      .def_ro("hidden", &ModelInfo::hidden)
      .def_ro("layers", &ModelInfo::layers)
      .def_ro("context", &ModelInfo::context)
      .def_ro("weight_bytes", &ModelInfo::weight_bytes)
      .def_ro("weights", &ModelInfo::weights)
      .def_ro("isa", &ModelInfo::isa)
      .def_ro("law", &ModelInfo::law)
      .def_ro("threads", &ModelInfo::threads)
      .def_ro("has_chat_template", &ModelInfo::has_chat_template)
      .def_ro("end_tokens", &ModelInfo::end_tokens)
      .def_prop_ro("bos_token", [](const ModelInfo& info) { return text(info.bos_token); })
      .def_prop_ro("eos_token", [](const ModelInfo& info) { return text(info.eos_token); })
      .def_ro("fingerprint", &ModelInfo::fingerprint);
  nb::class_<SpeculationType>(module, "SpeculationType")
      .def_ro("name", &SpeculationType::name)
      .def_ro("alias", &SpeculationType::alias)
      .def_ro("needs_draft_model", &SpeculationType::needs_draft_model)
      .def_ro("in_models", &SpeculationType::in_models)
      .def_ro("summary", &SpeculationType::summary);
  nb::class_<SpeculationPolicy>(module, "SpeculationPolicy")
      .def_ro("name", &SpeculationPolicy::name)
      .def_ro("summary", &SpeculationPolicy::summary);
  nb::class_<SessionLoad>(module, "SessionLoad")
      .def_ro("running", &SessionLoad::running)
      .def_ro("waiting", &SessionLoad::waiting)
      .def_ro("steps", &SessionLoad::steps)
      .def_ro("preemptions", &SessionLoad::preemptions)
      .def_ro("memory", &SessionLoad::memory)
      .def_ro("memory_in_use", &SessionLoad::memory_in_use)
      .def_ro("memory_running", &SessionLoad::memory_running)
      .def_ro("page_tokens", &SessionLoad::page_tokens)
      .def_ro("page_bytes", &SessionLoad::page_bytes)
      .def_ro("keeps_texts", &SessionLoad::keeps_texts)
      .def_ro("cache_bytes_in_use", &SessionLoad::cache_bytes_in_use)
      .def_ro("prompt_tokens", &SessionLoad::prompt_tokens)
      .def_ro("cached_tokens", &SessionLoad::cached_tokens)
      .def_ro("drafted_tokens", &SessionLoad::drafted_tokens)
      .def_ro("accepted_tokens", &SessionLoad::accepted_tokens);
  nb::class_<BuildInfo>(module, "BuildInfo")
      .def_prop_ro("version", [](const BuildInfo& info) { return text(info.version); })
      .def_prop_ro("commit", [](const BuildInfo& info) { return text(info.commit); })
      .def_prop_ro("compiler", [](const BuildInfo& info) { return text(info.compiler); })
      .def_prop_ro("type", [](const BuildInfo& info) { return text(info.type); })
      .def_prop_ro("flags", [](const BuildInfo& info) { return text(info.flags); });
}

void bind_costs(nb::module_& module) {
  nb::class_<MeasuredCosts> costs(module, "MeasuredCosts");
  nb::class_<MeasuredCosts::Curve>(costs, "Curve")
      .def_ro("rows", &MeasuredCosts::Curve::rows)
      .def_ro("ms", &MeasuredCosts::Curve::ms);
  nb::class_<MeasuredCosts::Draft>(costs, "Draft")
      .def_ro("name", &MeasuredCosts::Draft::name)
      .def_ro("first_level", &MeasuredCosts::Draft::first_level)
      .def_ro("level", &MeasuredCosts::Draft::level);
  nb::class_<MeasuredCosts::Experts>(costs, "Experts")
      .def_ro("count", &MeasuredCosts::Experts::count)
      .def_ro("active", &MeasuredCosts::Experts::active)
      .def_ro("layers", &MeasuredCosts::Experts::layers)
      .def_ro("ms", &MeasuredCosts::Experts::ms)
      .def_ro("rows", &MeasuredCosts::Experts::rows)
      .def_ro("expected", &MeasuredCosts::Experts::expected)
      .def_ro("even", &MeasuredCosts::Experts::even);
  costs.def_ro("context", &MeasuredCosts::context)
      .def_ro("verify", &MeasuredCosts::verify)
      .def_ro("experts", &MeasuredCosts::experts)
      .def_ro("growth_one", &MeasuredCosts::growth_one)
      .def_ro("growth_many", &MeasuredCosts::growth_many)
      .def_ro("other_ms", &MeasuredCosts::other_ms)
      .def_ro("drafters", &MeasuredCosts::drafters)
      .def_ro("file", &MeasuredCosts::file);
}

}  // namespace

void bind_values(nb::module_& module) {
  bind_logprobs(module);
  bind_rounds(module);
  bind_result(module);
  bind_information(module);
  bind_costs(module);
}

}  // namespace augur::python

#include "options.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <utility>

#include "augur/session.h"
#include "drafters.h"
#include "policies.h"
#include "processors.h"
#include "text.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

/// The value of a word. Error with the field for any other.
template <Worded Enum>
Enum value_of(std::string_view word, const char* field) {
  const auto all = words(Enum{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == word) return static_cast<Enum>(i);
  }
  std::string list;
  for (const std::string_view one : all) list += (list.empty() ? "" : ", ") + std::string(one);
  throw Error(ErrorCause(ErrorKind::RefusedField, field),
              std::string(field) + " is '" + std::string(word) + "', not one of " + list);
}

/// A field that is an enumeration, as a property of its words.
template <class Class, Worded Enum>
void def_word(nb::class_<Class>& bound, const char* name, Enum Class::*member) {
  bound.def_prop_rw(
      name, [member](const Class& object) { return text(to_string(object.*member)); },
      [member, name](Class& object, std::string_view word) { object.*member = value_of<Enum>(word, name); });
}

SpeculationPlan parsed_plan(std::string_view words, const char* field) {
  try {
    return SpeculationPlan::parse(words);
  } catch (const Error& error) {
    throw Error(ErrorCause(error.kind(), field), std::string(error.what()));
  }
}

void bind_engine_options(nb::module_& module) {
  nb::class_<EngineOptions> options(module, "EngineOptions");
  options.def(nb::init<>())
      .def_rw("model", &EngineOptions::model)
      .def_rw("draft_model", &EngineOptions::draft_model)
      .def(
          "add_draft_model",
          [](EngineOptions& to, std::string name, std::string path) {
            to.draft_models.push_back({std::move(name), std::move(path)});
          },
          nb::arg("name"), nb::arg("path"))
      .def_rw("datastore", &EngineOptions::datastore)
      .def_rw("threads", &EngineOptions::threads)
      .def_rw("pin_threads", &EngineOptions::pin_threads)
      .def_rw("context", &EngineOptions::context)
      .def_rw("isa", &EngineOptions::isa)
      .def_rw("chat_template", &EngineOptions::chat_template)
      .def_rw("fallback_template", &EngineOptions::fallback_template)
      .def_rw("template_kwargs", &EngineOptions::template_kwargs)
      .def_rw("template_date", &EngineOptions::template_date)
      .def_rw("cost_cache", &EngineOptions::cost_cache)
      .def_prop_rw(
          "speculation", [](const EngineOptions& of) { return text(to_string(of.speculation)); },
          [](EngineOptions& of, std::string_view plan) { of.speculation = parsed_plan(plan, "spec"); });
  def_word(options, "weights", &EngineOptions::weights);
  def_word(options, "draft_weights", &EngineOptions::draft_weights);
  def_word(options, "kv", &EngineOptions::kv);
  def_word(options, "law", &EngineOptions::law);
  bind_policies(module, options);
  bind_drafters(module, options);

  nb::class_<SessionOptions>(module, "SessionOptions")
      .def(nb::init<>())
      .def_rw("parallel", &SessionOptions::parallel)
      .def_rw("queue", &SessionOptions::queue)
      .def_rw("compilers", &SessionOptions::compilers)
      .def_rw("prompt_share", &SessionOptions::prompt_share)
      .def_rw("memory", &SessionOptions::memory)
      .def_rw("memory_share", &SessionOptions::memory_share)
      .def_rw("cache_bytes", &SessionOptions::cache_bytes);
}

void bind_messages(nb::module_& module) {
  nb::class_<ToolCall>(module, "ToolCall")
      .def(
          "__init__",
          [](ToolCall* made, std::string id, std::string name, std::string arguments) {
            new (made) ToolCall{std::move(id), std::move(name), std::move(arguments)};
          },
          nb::arg("id"), nb::arg("name"), nb::arg("arguments"));
  nb::enum_<Message::Absence>(module, "Absence", "How a template sees empty content.")
      .value("EMPTY", Message::Absence::Empty)
      .value("NULL", Message::Absence::Null)
      .value("MISSING", Message::Absence::Missing);
  nb::class_<Message>(module, "Message")
      .def(nb::init<>())
      .def_rw("role", &Message::role)
      .def_rw("content", &Message::content)
      .def_rw("tool_calls", &Message::tool_calls)
      .def_rw("tool_call_id", &Message::tool_call_id)
      .def_rw("name", &Message::name)
      .def_rw("absence", &Message::absence)
      .def_rw("reasoning", &Message::reasoning);
  nb::enum_<ChatEnd>(module, "ChatEnd", "How the prompt of a conversation ends.")
      .value("REPLY", ChatEnd::Reply)
      .value("TURN", ChatEnd::Turn)
      .value("CONTINUE", ChatEnd::Continue);
}

void bind_request(nb::module_& module) {
  nb::class_<SamplingOptions>(module, "SamplingOptions")
      .def_rw("temperature", &SamplingOptions::temperature)
      .def_rw("top_k", &SamplingOptions::top_k)
      .def_rw("top_p", &SamplingOptions::top_p)
      .def_rw("min_p", &SamplingOptions::min_p)
      .def_rw("repetition_penalty", &SamplingOptions::repetition_penalty)
      .def_rw("presence_penalty", &SamplingOptions::presence_penalty)
      .def_rw("frequency_penalty", &SamplingOptions::frequency_penalty)
      .def_rw("penalty_window", &SamplingOptions::penalty_window)
      .def_rw("logit_bias", &SamplingOptions::logit_bias)
      .def_rw("seed", &SamplingOptions::seed);
  nb::class_<Request>(module, "Request")
      .def(nb::init<>())
      .def_rw("prompt", &Request::prompt)
      .def_rw("prompt_tokens", &Request::prompt_tokens)
      .def_rw("messages", &Request::messages)
      .def_rw("tools", &Request::tools)
      .def_rw("template_kwargs", &Request::template_kwargs)
      .def_rw("chat_end", &Request::chat_end)
      .def_rw("max_tokens", &Request::max_tokens)
      .def_rw("stop", &Request::stop)
      .def_rw("ignore_eos", &Request::ignore_eos)
      .def_rw("tpot_ms", &Request::tpot_ms)
      .def_rw("cache_prompt", &Request::cache_prompt)
      .def_rw("cache_salt", &Request::cache_salt)
      .def_rw("show_special", &Request::show_special)
      .def_rw("shown_tokens", &Request::shown_tokens)
      .def_rw("logprobs", &Request::logprobs)
      .def_rw("sampled_logprobs", &Request::sampled_logprobs)
      .def_rw("prompt_logprobs", &Request::prompt_logprobs)
      .def_rw("sampling", &Request::sampling)
      .def(
          "set_grammar",
          [](Request& of, std::string_view kind, std::string written, std::string field) {
            of.grammar =
                Grammar{value_of<GrammarKind>(kind, "grammar"), std::move(written), std::move(field)};
          },
          nb::arg("kind"), nb::arg("text"), nb::arg("field"))
      .def("add_logits_processor", &add_logits_processor, nb::arg("call"),
           "Of bytes of ids, and bytes of a row that it changes.")
      .def(
          "set_speculation",
          [](Request& of, std::string_view plan) { of.speculation = parsed_plan(plan, "speculation"); },
          nb::arg("plan"));
}

}  // namespace

void bind_options(nb::module_& module) {
  bind_engine_options(module);
  bind_messages(module);
  bind_request(module);
}

}  // namespace augur::python

#include "engine.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/build_info.h"
#include "processors.h"
#include "python_calls.h"
#include "shared_engine.h"
#include "text.h"
#include "text_outputs.h"
#include "without_gil.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

/// Calls back on the thread that loads, which is Python's; what the callback raises, and what signals raise,
/// ends the loading.
std::function<void(std::string_view, double)> progress_of(nb::handle callback) {
  return [callback](std::string_view what, double fraction) {
    const nb::gil_scoped_acquire gil;
    raise_signals();
    if (!callback.is_none()) callback(text(what), fraction);
  };
}

void load(SharedEngine* place, EngineOptions options, const SessionOptions& session,
          const nb::object& progress) {
  options.progress = progress_of(progress);
  const WithoutGil others_run;
  new (place) SharedEngine(std::move(options), session);
}

/// Calls a const function of the engine without the interpreter's lock.
template <class Call>
auto apart(const SharedEngine& shared, Call call) {
  const WithoutGil others_run;
  return call(*shared.engine());
}

void bind_generation(nb::module_& module) {
  nb::class_<Piece>(module, "Piece")
      .def_ro("token", &Piece::token)
      .def_prop_ro("text", [](const Piece& piece) { return text(piece.text); })
      .def_ro("proposer", &Piece::proposer)
      .def_ro("depth", &Piece::depth)
      .def_ro("logprobs", &Piece::logprobs);
  nb::class_<Generation>(module, "Generation", "A submitted request; cancelled when it is collected.")
      .def("take", &Generation::take, "Waits for tokens and takes them; none: the request has ended.")
      .def("take_ready", &Generation::take_ready, "Takes the tokens that are there.")
      .def("wait", &Generation::wait, nb::arg("seconds"), "Waits for the end: whether it has come.")
      .def("ended", &Generation::ended)
      .def("cancel", &Generation::cancel)
      .def("descriptor", &Generation::descriptor, "A descriptor that can be read when there is news.")
      .def("clear_descriptor", &Generation::clear_descriptor)
      .def("result", &Generation::result, nb::rv_policy::reference_internal)
      .def("rounds", &Generation::rounds);
}

}  // namespace

void bind_engine(nb::module_& module) {
  bind_generation(module);
  nb::class_<SharedEngine> bound(module, "SharedEngine",
                                 "An engine, and the session that all threads share.");
  bound.def("__init__", &load, nb::arg("options"), nb::arg("session"), nb::arg("progress").none())
      .def(
          "submit",
          [](SharedEngine& shared, Request& request, int priority, std::string client, double seconds,
             bool pieces, bool rounds) {
            drop_left_objects();
            SubmitOptions options;
            options.priority = priority;
            options.client = std::move(client);
            options.seconds = seconds;
            options.on_result = [end = end_of_processors(request)](const Result&) { end(); };
            const WithoutGil others_run;
            return shared.submit(request, std::move(options), {.pieces = pieces, .rounds = rounds});
          },
          nb::arg("request"), nb::kw_only(), nb::arg("priority"), nb::arg("client"), nb::arg("seconds"),
          nb::arg("pieces"), nb::arg("rounds"))
      .def(
          "tokenize",
          [](const SharedEngine& shared, const std::string& prompt, bool part, bool parse_special) {
            return apart(shared, [&](const Engine& engine) {
              return part ? engine.tokenize_part(prompt, parse_special)
                          : engine.tokenize(prompt, parse_special);
            });
          },
          nb::arg("text"), nb::arg("part"), nb::arg("parse_special"))
      .def(
          "detokenize",
          [](const SharedEngine& shared, const std::vector<TokenId>& tokens, bool show_special) {
            return text(apart(shared, [&](const Engine& e) { return e.detokenize(tokens, show_special); }));
          },
          nb::arg("tokens"), nb::arg("show_special"))
      .def(
          "token_bytes",
          [](const SharedEngine& shared, TokenId token) {
            const std::string bytes = shared.engine()->token_bytes(token);
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("token"))
      .def(
          "render_chat",
          [](const SharedEngine& shared, const Request& request) {
            return text(apart(shared, [&](const Engine& engine) { return engine.render_chat(request); }));
          },
          nb::arg("request"))
      .def(
          "prompt_tokens",
          [](const SharedEngine& shared, const Request& request) {
            return apart(shared, [&](const Engine& engine) { return engine.prompt_tokens(request); });
          },
          nb::arg("request"))
      .def("info", [](const SharedEngine& shared) { return shared.engine()->info(); })
      .def("chat_template", [](const SharedEngine& shared) { return text(shared.engine()->chat_template()); })
      .def("speculation",
           [](const SharedEngine& shared) { return text(to_string(shared.engine()->speculation())); })
      .def("drafters", [](const SharedEngine& shared) { return shared.engine()->drafters(); })
      .def(
          "costs",
          [](SharedEngine& shared, bool anew) {
            const WithoutGil others_run;
            return shared.alone([&](Engine& engine) { return engine.costs(anew); });
          },
          nb::arg("anew"))
      .def("forget",
           [](SharedEngine& shared) {
             const WithoutGil others_run;
             shared.alone([](Engine& engine) { engine.forget(); });
           })
      .def("load",
           [](const SharedEngine& shared) {
             const WithoutGil others_run;
             return shared.load();
           })
      .def("take_log", &SharedEngine::take_log)
      .def("close",
           [](SharedEngine& shared) {
             {
               const WithoutGil others_run;
               shared.close();
             }
             drop_left_objects();
           })
      .def("closed", &SharedEngine::closed);
  bind_text_outputs(module, bound);
  module.def("speculation_types", &speculation_types);
  module.def("speculation_policies", &speculation_policies);
  module.def("build_info", &build_info, nb::rv_policy::reference);
  module.def(
      "canonical_plan", [](std::string_view plan) { return text(to_string(SpeculationPlan::parse(plan))); },
      nb::arg("plan"));
}

}  // namespace augur::python

#include "descriptions.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>

#include "augur/memory_estimate.h"
#include "augur/model_description.h"
#include "text.h"
#include "without_gil.h"

namespace nb = nanobind;

namespace augur::python {

void bind_descriptions(nb::module_& module) {
  nb::class_<ModelDescription> described(module, "ModelDescription");
  nb::class_<ModelDescription::File>(described, "File")
      .def_ro("path", &ModelDescription::File::path)
      .def_ro("tensors", &ModelDescription::File::tensors)
      .def_ro("bytes", &ModelDescription::File::bytes);
  nb::class_<ModelDescription::Shape>(described, "Shape")
      .def_ro("family", &ModelDescription::Shape::family)
      .def_ro("layers", &ModelDescription::Shape::layers)
      .def_ro("hidden", &ModelDescription::Shape::hidden)
      .def_ro("intermediate", &ModelDescription::Shape::intermediate)
      .def_ro("heads", &ModelDescription::Shape::heads)
      .def_ro("kv_heads", &ModelDescription::Shape::kv_heads)
      .def_ro("head_dim", &ModelDescription::Shape::head_dim)
      .def_ro("vocab", &ModelDescription::Shape::vocab)
      .def_ro("context", &ModelDescription::Shape::context)
      .def_ro("tied_embeddings", &ModelDescription::Shape::tied_embeddings);
  nb::class_<ModelDescription::WeightType>(described, "WeightType")
      .def_ro("name", &ModelDescription::WeightType::name)
      .def_ro("tensors", &ModelDescription::WeightType::tensors)
      .def_ro("bytes", &ModelDescription::WeightType::bytes);
  nb::class_<ModelDescription::Problem>(described, "Problem")
      .def_ro("kind", &ModelDescription::Problem::kind)
      .def_prop_ro("text", [](const ModelDescription::Problem& problem) { return text(problem.text); });
  described.def_ro("path", &ModelDescription::path)
      .def_ro("gguf", &ModelDescription::gguf)
      .def_ro("files", &ModelDescription::files)
      .def_ro("shape", &ModelDescription::shape)
      .def_ro("tensors", &ModelDescription::tensors)
      .def_ro("parameters", &ModelDescription::parameters)
      .def_ro("weight_bytes", &ModelDescription::weight_bytes)
      .def_ro("weight_types", &ModelDescription::weight_types)
      .def_ro("tokenizer", &ModelDescription::tokenizer)
      .def_prop_ro("chat_template", [](const ModelDescription& of) { return text(of.chat_template); })
      .def_ro("head_type", &ModelDescription::head_type)
      .def_prop_ro("head_target", [](const ModelDescription& of) { return text(of.head_target); })
      .def_ro("own_drafter", &ModelDescription::own_drafter)
      .def_prop_ro("metadata",
                   [](const ModelDescription& of) {
                     nb::typed<nb::dict, nb::str, nb::str> all;
                     for (const auto& [key, value] : of.metadata) all[text(key)] = text(value);
                     return all;
                   })
      .def_ro("problems", &ModelDescription::problems);
  nb::class_<MemoryEstimate>(module, "MemoryEstimate")
      .def_ro("mapped", &MemoryEstimate::mapped)
      .def_ro("weights", &MemoryEstimate::weights)
      .def_ro("draft_weights", &MemoryEstimate::draft_weights)
      .def_ro("workspace", &MemoryEstimate::workspace)
      .def_ro("token", &MemoryEstimate::token)
      .def_ro("text", &MemoryEstimate::text)
      .def_ro("texts", &MemoryEstimate::texts)
      .def_ro("kept", &MemoryEstimate::kept);
  module.def(
      "describe_model",
      [](const std::string& path) {
        const WithoutGil others_run;
        return describe_model(path);
      },
      nb::arg("path"));
  module.def(
      "estimate_memory",
      [](const EngineOptions& options, const SessionOptions& session) {
        const WithoutGil others_run;
        return estimate_memory(options, session);
      },
      nb::arg("options"), nb::arg("session"));
}

}  // namespace augur::python

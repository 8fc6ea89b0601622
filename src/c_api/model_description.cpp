#include "augur/model_description.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/model_content.h"
#include "c_api/structs.h"

using namespace augur::c_api;

namespace {

/// Number `index` of one of the description's lists, as `make` writes it.
template <class List, class Struct, class Make>
int32_t answer_of(const augur_model_description* description, List augur::ModelDescription::*list,
                  size_t index, Struct* to, const char* what, Make&& make) {
  return guarded(
      [&] {
        const auto from = held(description);
        const List& all = *from.*list;
        if (index >= all.size()) return int32_t{0};
        answer(make(*std::next(all.begin(), static_cast<std::ptrdiff_t>(index))), to, what);
        return int32_t{1};
      },
      int32_t{-1});
}

}  // namespace

augur_model_description* augur_describe_model(const char* path, const augur_model_content* content) {
  return guarded([&] {
    const std::string name = text_or_empty(path);
    return give<augur_model_description>(std::make_shared<augur::ModelDescription>(
        content == nullptr ? augur::describe_model(name)
                           : augur::describe_model(content_of(content).content, name)));
  });
}

void augur_model_description_free(augur_model_description* description) {
  free_handle(description);
}

int32_t augur_model_description_get_facts(const augur_model_description* description,
                                          augur_model_facts* facts) {
  return status([&] {
    static const augur::ModelDescription::Shape none;
    const auto from = held(description);
    const augur::ModelDescription::Shape& shape = from->shape ? *from->shape : none;
    answer({.size = 0,
            .path = from->path.c_str(),
            .gguf = from->gguf,
            .has_shape = from->shape.has_value(),
            .family = shape.family.c_str(),
            .layers = shape.layers,
            .hidden = shape.hidden,
            .intermediate = shape.intermediate,
            .heads = shape.heads,
            .kv_heads = shape.kv_heads,
            .head_dim = shape.head_dim,
            .vocab = shape.vocab,
            .context = shape.context,
            .tied_embeddings = shape.tied_embeddings,
            .tensors = from->tensors,
            .parameters = from->parameters,
            .weight_bytes = from->weight_bytes,
            .tokenizer = from->tokenizer.c_str(),
            .chat_template = from->chat_template.c_str(),
            .head_type = from->head_type.c_str(),
            .head_target = from->head_target.c_str(),
            .own_drafter = from->own_drafter.c_str()},
           facts, "augur_model_facts");
  });
}

int32_t augur_model_description_get_file(const augur_model_description* description, size_t index,
                                         augur_model_file* file) {
  return answer_of(description, &augur::ModelDescription::files, index, file, "augur_model_file",
                   [](const auto& from) -> augur_model_file {
                     return {
                         .size = 0, .path = from.path.c_str(), .tensors = from.tensors, .bytes = from.bytes};
                   });
}

int32_t augur_model_description_get_weight_type(const augur_model_description* description, size_t index,
                                                augur_weight_type* type) {
  return answer_of(description, &augur::ModelDescription::weight_types, index, type, "augur_weight_type",
                   [](const auto& from) -> augur_weight_type {
                     return {
                         .size = 0, .name = from.name.c_str(), .tensors = from.tensors, .bytes = from.bytes};
                   });
}

int32_t augur_model_description_get_metadata(const augur_model_description* description, size_t index,
                                             augur_model_metadata* metadata) {
  return answer_of(description, &augur::ModelDescription::metadata, index, metadata, "augur_model_metadata",
                   [](const auto& from) -> augur_model_metadata {
                     return {.size = 0, .key = from.first.c_str(), .text = from.second.c_str()};
                   });
}

int32_t augur_model_description_get_problem(const augur_model_description* description, size_t index,
                                            augur_model_problem* problem) {
  return answer_of(description, &augur::ModelDescription::problems, index, problem, "augur_model_problem",
                   [](const auto& from) -> augur_model_problem {
                     return {.size = 0, .kind = static_cast<int64_t>(from.kind), .text = from.text.c_str()};
                   });
}
